"""Chapter 1: dot products, projections and scores, by value and at the edges."""

import torch
import torch.nn.functional as F

from grader.suite import (
    Case,
    Draw,
    aside,
    check,
    checks_by_law,
    in_any_words,
    printed,
    reference,
    refusal,
    same,
)
from grader.suite.queries_and_keys import query_key, query_key_refusals


def _must_fit(fits, *tensors):
    if not fits:
        raise ValueError(f"the shapes do not fit: {[tuple(t.shape) for t in tensors]}")


@reference
def dot_product(a, b):
    """Products, added up one after the other."""
    _must_fit(a.dim() == 1 and a.shape == b.shape, a, b)
    return torch.einsum("d,d->", a, b)


@reference
def naive_scores(tokens):
    """Every token of a sequence with every other."""
    return torch.einsum("...id,...jd->...ij", tokens, tokens)


@reference
def _plus(out, bias):
    if bias is None:
        return out
    _must_fit(bias.dim() == 1 and bias.shape == out.shape[-1:], bias, out)
    return out + bias


@reference
def project_rows(x, weight, bias=None):
    """Entry o of a new token is the sum over i of x_i weight_io, plus bias_o."""
    _must_fit(weight.dim() == 2 and x.shape[-1] == weight.shape[0], x, weight)
    return _plus(torch.einsum("...ni,io->...no", x, weight), bias)


@reference
def project_linear(x, weight, bias=None):
    """Entry o of a new token is the sum over i of x_i weight_oi, plus bias_o."""
    _must_fit(weight.dim() == 2 and x.shape[-1] == weight.shape[1], x, weight)
    return _plus(torch.einsum("...ni,oi->...no", x, weight), bias)


@reference
def project_columns(x, weight, bias=None):
    """The same, with tokens that stand upright."""
    _must_fit(weight.dim() == 2 and x.shape[-2] == weight.shape[1], x, weight)
    return _plus(torch.einsum("...in,oi->...no", x, weight), bias).transpose(-1, -2)


@reference
def dot_product_scores(query, key):
    """Every query with every key."""
    _must_fit(query.shape[:-2] == key.shape[:-2] and query.shape[-1] == key.shape[-1], query, key)
    return torch.einsum("...qd,...kd->...qk", query, key)


# Document 002: torch.manual_seed(42), then T, W_K, W_Q and W_V from torch.randn in this order.
TOKENS = [
    [0.336690366, 0.128809407, 0.234462366, 0.23033303, -1.12285638],
    [-0.186328292, 2.20820141, -0.637997031, 0.461657226, 0.267350882],
    [0.534904659, 0.809357226, 1.11029029, -1.68979895, -0.988959908],
]
W_K = [
    [-1.384674, -0.871236, -0.223366, 1.717361],
    [-0.487992, 1.191369, -0.814008, -0.735993],
    [-0.837125, -0.922390, 1.811318, 0.160565],
    [-0.097807, 1.844594, -1.184537, 1.383549],
    [-1.202446, 0.707812, -1.075886, 0.535655],
]
W_Q = [
    [0.346647, -0.197331, -1.054589, 1.277996],
    [0.728110, -0.710642, -0.602068, 0.960449],
    [0.404814, -1.354343, -0.497646, 0.474661],
    [-0.197562, 1.268311, 1.224263, 0.098117],
    [1.742253, -1.352674, 0.219060, 0.552635],
]
W_V = [
    [-0.678753, 0.574316, 0.187749, -0.357623],
    [0.517693, 0.387778, -0.579677, -0.169115],
    [1.931161, 1.011864, -1.436406, -1.129860],
    [0.270374, -0.562824, 0.679340, 0.440530],
    [1.141508, 0.018565, -1.805805, 0.925435],
]
# What the document prints; its loop prints all the digits of float32, of which six can be held.
PRODUCTS = [
    [1.4987846612930298, -0.12174583971500397, 1.265914797782898],
    [-0.12174582481384277, 5.602515697479248, -0.06531322002410889],
    [1.2659146785736084, -0.06531322002410889, 6.007389068603516],
]
NAIVE = [[1.4988, -0.1217, 1.2659], [-0.1217, 5.6025, -0.0653], [1.2659, -0.0653, 6.0074]]
KEY = [
    [0.6023, -0.7260, 1.1799, 0.2383],
    [-0.6521, 4.4224, -3.7460, -1.2657],
    [-0.7106, -4.3429, 4.2984, -2.3664],
]
QUERY = [
    [-1.6964, 1.3355, -0.5133, 0.0674],
    [1.6595, -0.4445, -0.1917, 1.7729],
    [-0.1650, -2.9899, -3.8893, 1.2756],
]
VALUE = [
    [-0.9285, 0.3301, 1.8359, -1.3448],
    [0.4676, -0.1512, -0.5678, 0.8648],
    [0.6143, 2.6772, -1.3256, -3.2423],
]
SCORES = [[-2.5809, 8.8498, -6.9600], [1.5185, -4.5739, -4.2686], [-2.2135, -0.1601, -6.6347]]
# Document 002's queries and keys with two digits more than it prints.
QUERY_6 = [
    [-1.696391, 1.335473, -0.513287, 0.067364],
    [1.659539, -0.444519, -0.191736, 1.772949],
    [-0.164994, -2.989882, -3.889325, 1.275632],
]
KEY_6 = [
    [0.602307, -0.726044, 1.179856, 0.238277],
    [-0.652125, 4.422405, -3.745978, -1.265720],
    [-0.710635, -4.342897, 4.298424, -2.366444],
]
# Document 001: the embeddings, and the weight of the third of three nn.Linear(2, 2, bias=False),
# the value's, made after torch.manual_seed(42).
POEM = [[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]]
POEM_VALUE = [[0.623345, -0.518753], [0.614614, 0.132342]]


def two_vectors(draw: Draw, *, d=7):
    return draw(d), draw(d)


def tokens(draw: Draw, *batch: int, n=5, d=3):
    return (draw(*batch, n, d, scale=1.3),)


def rows(draw: Draw, *batch: int, n=5, d_in=7, d_out=3):
    return draw(*batch, n, d_in), draw(d_in, d_out)


def rows_bias(draw: Draw, *batch: int, n=5, d_in=7, d_out=3):
    return *rows(draw, *batch, n=n, d_in=d_in, d_out=d_out), draw(d_out, scale=2)


def linear(draw: Draw, *batch: int, n=5, d_in=7, d_out=3):
    return draw(*batch, n, d_in), draw(d_out, d_in)


def linear_bias(draw: Draw, *batch: int, n=5, d_in=7, d_out=3):
    return *linear(draw, *batch, n=n, d_in=d_in, d_out=d_out), draw(d_out, scale=2)


def columns(draw: Draw, *batch: int, n=5, d_in=7, d_out=3):
    return draw(*batch, d_in, n), draw(d_out, d_in)


def columns_bias(draw: Draw, *batch: int, n=5, d_in=7, d_out=3):
    return *columns(draw, *batch, n=n, d_in=d_in, d_out=d_out), draw(d_out, scale=2)


IN_002, IN_001 = {"n": 3, "d_in": 5, "d_out": 4}, {"n": 3, "d_in": 2, "d_out": 2}
NO_BIAS = "None: no bias"
CASES = [
    Case("dot_product", two_vectors, dot_product, documents=({"d": 5}, {"d": 4})),
    Case("naive_scores", tokens, naive_scores, documents=({"n": 3, "d": 5},)),
    Case("project_rows", rows, project_rows, documents=(IN_002,)),
    Case("project_rows", rows_bias, project_rows, "bias"),
    Case("project_linear", linear, project_linear, documents=(IN_001,)),
    Case("project_linear", linear_bias, project_linear, "bias"),
    Case("project_columns", columns, project_columns, documents=(IN_002,)),
    Case("project_columns", columns_bias, project_columns, "bias"),
    Case(
        "dot_product_scores", query_key, dot_product_scores,
        documents=({"q": 3, "k": 3, "d_k": 4},),
    ),
]  # fmt: skip


def silent(inputs):
    """Draw inputs whose bias is 0: it changes no value, and gets a gradient."""

    def drawn(draw: Draw, *batch: int):
        x, weight, bias = inputs(draw, *batch)
        return x, weight, torch.zeros_like(bias)

    return drawn


def vector_of_zeros(draw: Draw):
    return draw(7) * 0, draw(7)


def first_of_zeros(inputs):
    """Draw inputs whose first token has no length."""

    def drawn(draw: Draw, *batch: int):
        first, *others = inputs(draw, *batch)
        first[..., 0, :] = 0
        return first, *others

    return drawn


SPECIAL = [
    Case(right.__name__, inputs, right, "no_bias", {"bias": None}, cites=NO_BIAS)
    for inputs, right in (
        (rows, project_rows), (linear, project_linear), (columns, project_columns)
    )
] + [
    Case(right.__name__, silent(inputs), right, "bias_of_zeros", everywhere=True, polish=True)
    for inputs, right in (
        (rows_bias, project_rows), (linear_bias, project_linear), (columns_bias, project_columns)
    )
] + [
    Case(right.__name__, inputs, right, "zeros", everywhere=True, polish=True)
    for inputs, right in (
        (vector_of_zeros, dot_product), (first_of_zeros(tokens), naive_scores),
        (first_of_zeros(query_key), dot_product_scores),
    )
]  # fmt: skip


def projection_refusals(exercise, x, weight, wrong_weight, words):
    """List what a projection refuses; `x`, `weight` and a weight that does not fit are shapes."""
    narrow = tuple(5 if size == 11 else size for size in wrong_weight)

    def call(x_shape, weight_shape, *bias):
        return lambda answer, draw: getattr(answer, exercise)(
            draw(*x_shape), draw(*weight_shape), *(draw(*shape) for shape in bias)
        )

    return [
        refusal(
            exercise, "ValueError: `x` has fewer than two dimensions.",
            ("`x` is [7], with 1 dimension", call((7,), weight)),
            ("`x` is [7], with 1 dimension, and there is a bias", call((7,), weight, (3,))),
        ),
        refusal(
            exercise, f"ValueError: `weight` is not a matrix with d_in {words}.",
            (f"`weight` is {list(wrong_weight)}: it takes tokens 11 wide, and they are 7 wide",
             call(x, wrong_weight)),
            (f"`weight` is {[*weight[::-1]]}, the other way round", call(x, weight[::-1])),
            (f"`weight` is {[2, *weight]}, a stack of matrices", call(x, (2, *weight))),
            # narrower than the tokens, and stacks whose sizes stand where a matrix has its own
            (f"`weight` is {list(narrow)}: it takes tokens 5 wide, and they are 7 wide",
             call(x, narrow)),
            ("`weight` is [7, 7, 7], a stack of matrices", call(x, (7, 7, 7))),
            ("`weight` is [7], with 1 dimension", call(x, (7,))),
        ),
        refusal(
            exercise, "ValueError: `bias` is not a vector of d_out numbers.",
            *((f"`bias` has length {length} and the new tokens are 3 wide",
               call(x, weight, (length,))) for length in (1, 2, 5)),
            ("`bias` is [5, 3], with 2 dimensions", call(x, weight, (5, 3))),
            ("`bias` is [1, 3], with 2 dimensions", call(x, weight, (1, 3))),
            ("`bias` is [3, 1], with 2 dimensions", call(x, weight, (3, 1))),
            ("`bias` is [], without a dimension, and the new tokens are 3 wide",
             call(x, weight, ())),
        ),
    ]  # fmt: skip


REFUSALS = [
    refusal(
        "dot_product", "ValueError: `a` or `b` is not a vector.",
        ("`a` is [7] and `b` is [5, 7]", lambda a, d: a.dot_product(d(7), d(5, 7))),
        ("`a` is [5, 7] and `b` is [7]", lambda a, d: a.dot_product(d(5, 7), d(7))),
        ("`a` and `b` are [5, 7]", lambda a, d: a.dot_product(d(5, 7), d(5, 7))),
        # as many numbers, or as many rows, as a vector that fits
        *((f"`a` is {list(one)} and `b` is {list(other)}",
           lambda a, d, one=one, other=other: a.dot_product(d(*one), d(*other)))
          for one, other in (((1, 7), (7,)), ((7,), (1, 7)), ((7, 7), (7,)), ((7,), (7, 7)),
                             ((), (1,)), ((1,), ()))),
        ("`a` is [], without a dimension, and `b` is [7]", lambda a, d: a.dot_product(d(), d(7))),
        ("`a` is [7] and `b` is [], without a dimension", lambda a, d: a.dot_product(d(7), d())),
        ("`a` and `b` are [], without a dimension", lambda a, d: a.dot_product(d(), d())),
    ),
    refusal(
        "dot_product", "ValueError: `a` and `b` differ in length.",
        ("`a` has 7 entries and `b` has 5", lambda a, d: a.dot_product(d(7), d(5))),
        ("`a` has 7 entries and `b` has 1", lambda a, d: a.dot_product(d(7), d(1))),
        ("`a` has 1 entry and `b` has 7", lambda a, d: a.dot_product(d(1), d(7))),
    ),
    refusal(
        "naive_scores", "ValueError: `tokens` has fewer than two dimensions.",
        ("`tokens` is [7], with 1 dimension", lambda a, d: a.naive_scores(d(7))),
    ),
    *projection_refusals("project_rows", (5, 7), (7, 3), (11, 3), "rows"),
    *projection_refusals("project_linear", (5, 7), (3, 7), (3, 11), "columns"),
    *projection_refusals("project_columns", (7, 5), (3, 7), (3, 11), "columns"),
    *query_key_refusals("dot_product_scores"),
]  # fmt: skip
EXPLAINS = {
    "dot_product": ("It grows", "Return a tensor"),
    "naive_scores": ("So the scores are symmetric", "One matrix product"),
    "project_rows": ("Every token is", "The weight is one matrix"),
    "project_linear": ("nn.Linear stores", "Mind a square weight"),
    "project_columns": ("Textbooks often write", "The row of ones", "Mind n = d_out"),
    "dot_product_scores": ("There may be", "Every sequence of a batch"),
}
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS)))


@check("dot_product")
def test_dot_product_printed_in_002(answer, draw):
    for i in range(3):
        for j in range(3):
            got = answer.dot_product(draw.tensor(TOKENS[i]), draw.tensor(TOKENS[j]))
            label = f"token {i} . token {j}"
            same(got, draw.tensor(PRODUCTS[i][j]), label=label, within=printed(6))


@check("naive_scores")
def test_naive_scores_printed_in_002(answer, draw):
    same(answer.naive_scores(draw.tensor(TOKENS)), draw.tensor(NAIVE), within=printed(4))


@check("project_rows")
def test_project_rows_printed_in_002(answer, draw):
    for name, weight, want in (("K", W_K, KEY), ("Q", W_Q, QUERY), ("V", W_V, VALUE)):
        got = answer.project_rows(draw.tensor(TOKENS), draw.tensor(weight))
        same(got, draw.tensor(want), label=name, within=printed(4))


@check("project_linear")
def test_project_linear_printed_in_001(answer, draw):
    # the first column of V is printed: 0.60, -0.35, 3.87, of which the last is cut to 3.86
    got = answer.project_linear(draw.tensor(POEM), draw.tensor(POEM_VALUE))
    same(got, draw.tensor([[0.6038, 0.7434], [-0.3502, 0.5303], [3.8695, 2.4246]]), label="V",
         within=printed(4))  # fmt: skip
    same(got[:, 0], draw.tensor([0.60, -0.35, 3.87]), label="the first column of V",
         within=printed(2))  # fmt: skip


@check("project_columns")
def test_project_columns_printed_in_002(answer, draw):
    # every token upright, as in document 004
    for name, weight, want in (("K", W_K, KEY), ("Q", W_Q, QUERY), ("V", W_V, VALUE)):
        upright, turned = (draw.tensor(rows).T.contiguous() for rows in (TOKENS, weight))
        got = answer.project_columns(upright, turned)
        same(got, draw.tensor(want).T, label=f"{name}^T", within=printed(4))


@check("dot_product_scores")
def test_dot_product_scores_printed_in_002(answer, draw):
    got = answer.dot_product_scores(draw.tensor(QUERY_6), draw.tensor(KEY_6))
    same(got, draw.tensor(SCORES), within=printed(4))


@check("project_linear", about="calls", cites="With `layer.weight` and `layer.bias`")
def test_project_linear_equals_pytorchs(answer, draw):
    x, weight, bias = draw(2, 5, 7), draw(3, 7), draw(3, scale=2)
    same(answer.project_linear(x, weight, bias), F.linear(x, weight, bias))
    with aside():
        layer = torch.nn.Linear(7, 3, dtype=x.dtype, device=x.device)
    same(answer.project_linear(x, layer.weight, layer.bias), layer(x).detach())


@check("dot_product_scores", about="calls")
def test_dot_product_scores_follow_their_keys(answer, draw):
    query, key = query_key(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = dot_product_scores(query.double(), key.double())[:, order]
    same(answer.dot_product_scores(query, key[order]), want, like=query)
