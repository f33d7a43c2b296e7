"""Chapter 1: dot products, projections and scores, by value and at the edges."""

import torch
import torch.nn.functional as F

from grader.suite import (
    OTHER_FLOATS,
    Draw,
    aside,
    check,
    devices,
    each,
    laws,
    printed,
    refuses,
    same,
    vary,
)
from grader.suite.laws import Case


def _must_fit(fits, *tensors):
    if not fits:
        raise ValueError(f"the shapes do not fit: {[tuple(t.shape) for t in tensors]}")


def dot64(a, b):
    """Products, added up one after the other."""
    _must_fit(a.dim() == 1 and a.shape == b.shape, a, b)
    return torch.einsum("d,d->", a, b)


def naive64(tokens):
    """Every token of a sequence with every other."""
    return torch.einsum("...id,...jd->...ij", tokens, tokens)


def _plus(out, bias):
    if bias is None:
        return out
    _must_fit(bias.dim() == 1 and bias.shape == out.shape[-1:], bias, out)
    return out + bias


def rows64(x, weight, bias=None):
    """Entry o of a new token is the sum over i of x_i weight_io, plus bias_o."""
    _must_fit(weight.dim() == 2 and x.shape[-1] == weight.shape[0], x, weight)
    return _plus(torch.einsum("...ni,io->...no", x, weight), bias)


def linear64(x, weight, bias=None):
    """Entry o of a new token is the sum over i of x_i weight_oi, plus bias_o."""
    _must_fit(weight.dim() == 2 and x.shape[-1] == weight.shape[1], x, weight)
    return _plus(torch.einsum("...ni,oi->...no", x, weight), bias)


def columns64(x, weight, bias=None):
    """The same, with tokens that stand upright."""
    _must_fit(weight.dim() == 2 and x.shape[-2] == weight.shape[1], x, weight)
    return _plus(torch.einsum("...in,oi->...no", x, weight), bias).transpose(-1, -2)


def scores64(query, key):
    """Every query with every key."""
    _must_fit(query.shape[:-2] == key.shape[:-2] and query.shape[-1] == key.shape[-1], query, key)
    return torch.einsum("...qd,...kd->...qk", query, key)


REFERENCES = {
    "dot_product": dot64,
    "naive_scores": naive64,
    "project_rows": rows64,
    "project_linear": linear64,
    "project_columns": columns64,
    "dot_product_scores": scores64,
}

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


def two_vectors(draw: Draw):
    return draw(7), draw(7)


def one_number_each(draw: Draw):
    return draw(1, scale=2), draw(1, scale=2)


def tokens(draw: Draw):
    return (draw(5, 3, scale=1.3),)


def as_many_tokens_as_features(draw: Draw):
    return (draw(5, 5),)


def rows(draw: Draw):
    return draw(5, 7), draw(7, 3)


def rows_bias(draw: Draw):
    return *rows(draw), draw(3, scale=2)


def linear(draw: Draw):
    return draw(5, 7), draw(3, 7)


def linear_bias(draw: Draw):
    return *linear(draw), draw(3, scale=2)


def columns(draw: Draw):
    return draw(7, 5), draw(3, 7)


def columns_bias(draw: Draw):
    return *columns(draw), draw(3, scale=2)


def square(draw: Draw):
    # every product and every sum fits whichever way round, and only the values tell
    return draw(5, 5), draw(5, 5), draw(5, scale=2)


def cube(draw: Draw):
    return draw(3, 3, 3), draw(3, 3), draw(3, scale=2)


def query_key(draw: Draw):
    return draw(5, 3, scale=1.3), draw(7, 3, scale=1.3)


def square_query_key(draw: Draw):
    return draw(5, 5), draw(5, 5)


DOT = Case("dot_product", two_vectors, dot64)
NAIVE_SCORES = Case("naive_scores", tokens, naive64)
DOT_SCORES = Case("dot_product_scores", query_key, scores64)
WITHOUT_BIAS = [
    Case("project_rows", rows, rows64),
    Case("project_linear", linear, linear64),
    Case("project_columns", columns, columns64),
]
WITH_BIAS = [
    Case("project_rows", rows_bias, rows64, "bias"),
    Case("project_linear", linear_bias, linear64, "bias"),
    Case("project_columns", columns_bias, columns64, "bias"),
]
PLAIN = [DOT, NAIVE_SCORES, *WITHOUT_BIAS, *WITH_BIAS, DOT_SCORES]


@check(core=True)
@each(PLAIN)
def test_values(answer, draw, case):
    """Catches a wrong product, a sum over the wrong dimension, a transpose too many or too few."""
    laws.values(answer, draw, case)


@check(core=True)
@each(
    [
        Case("naive_scores", as_many_tokens_as_features, naive64),
        Case("project_rows", square, rows64),
        Case("project_linear", square, linear64),
        Case("project_columns", square, columns64),
        Case("dot_product_scores", square_query_key, scores64),
    ]
)
def test_square(answer, draw, case):
    """Catches a product or a bias the wrong way round that fits only because all sizes agree."""
    laws.values(answer, draw, case)


@check(core=True)
@each(
    [
        Case("naive_scores", lambda draw: (draw(2, 5, 3, scale=1.3),), naive64, "one"),
        Case("naive_scores", lambda draw: (draw(2, 3, 5, 7),), naive64, "two"),
        Case("naive_scores", lambda draw: (draw(3, 3, 3),), naive64, "cube"),
        Case(
            "project_rows", lambda draw: (draw(2, 5, 7), draw(7, 3), draw(3, scale=2)), rows64,
            "one",
        ),
        Case("project_rows", lambda draw: (draw(2, 3, 5, 7), draw(7, 3)), rows64, "two"),
        Case("project_rows", cube, rows64, "cube"),
        Case(
            "project_linear", lambda draw: (draw(2, 5, 7), draw(3, 7), draw(3, scale=2)), linear64,
            "one",
        ),
        Case("project_linear", lambda draw: (draw(2, 3, 5, 7), draw(3, 7)), linear64, "two"),
        Case("project_linear", cube, linear64, "cube"),
        Case(
            "project_columns", lambda draw: (draw(2, 7, 5), draw(3, 7), draw(3, scale=2)),
            columns64, "one",
        ),
        Case("project_columns", lambda draw: (draw(2, 3, 7, 5), draw(3, 7)), columns64, "two"),
        Case("project_columns", cube, columns64, "cube"),
        Case("dot_product_scores", lambda draw: (draw(2, 5, 3), draw(2, 7, 3)), scores64, "one"),
        Case(
            "dot_product_scores", lambda draw: (draw(2, 3, 5, 7), draw(2, 3, 11, 7)), scores64,
            "two",
        ),
        Case("dot_product_scores", lambda draw: (draw(3, 3, 3), draw(3, 3, 3)), scores64, "cube"),
    ]
)  # fmt: skip
def test_batches(answer, draw, case):
    """Catches code that leans on two dimensions, and sequences of a batch that meet."""
    laws.values(answer, draw, case)


@check(core=True)
@each(
    [
        Case("dot_product", one_number_each, dot64),
        Case("naive_scores", lambda draw: (draw(1, 1, 3),), naive64),
        Case("project_rows", lambda draw: (draw(1, 1, 3), draw(3, 1), draw(1)), rows64),
        Case("project_linear", lambda draw: (draw(1, 1, 3), draw(1, 3), draw(1)), linear64),
        Case("project_columns", lambda draw: (draw(1, 3, 1), draw(1, 3), draw(1)), columns64),
        Case("dot_product_scores", lambda draw: (draw(1, 1, 3), draw(1, 1, 3)), scores64),
    ]
)
def test_sizes_of_one(answer, draw, case):
    """Catches `squeeze`, which takes away more dimensions than meant where a size is 1."""
    laws.values(answer, draw, case)


@check(core=True)
@each(WITH_BIAS)
def test_bias_by_its_name(answer, draw, case):
    """Catches another parameter's name, and a bias that counts only where there is one."""
    x, weight, bias = case.inputs(draw)
    call = getattr(answer, case.exercise)
    want, without = case.want((x, weight, bias)), case.want((x, weight))
    same(call(x, weight, bias=bias), want, like=x)
    same(call(x, weight, bias=torch.zeros_like(bias)), without, like=x)


@check("dot_product", core=True)
def test_dot_product_printed_in_002(answer, draw):
    """The nine numbers that document 002's loop prints in "Naive Attention", to six digits."""
    for i in range(3):
        for j in range(3):
            got = answer.dot_product(draw.tensor(TOKENS[i]), draw.tensor(TOKENS[j]))
            label = f"token {i} . token {j}"
            same(got, draw.tensor(PRODUCTS[i][j]), label=label, within=printed(6))


@check("naive_scores", core=True)
def test_naive_scores_printed_in_002(answer, draw):
    """The naive scores S that document 002 prints, to its four digits."""
    same(answer.naive_scores(draw.tensor(TOKENS)), draw.tensor(NAIVE), within=printed(4))


@check("project_rows", core=True)
def test_project_rows_printed_in_002(answer, draw):
    """The keys, queries and values that document 002 prints, to its four digits."""
    for name, weight, want in (("K", W_K, KEY), ("Q", W_Q, QUERY), ("V", W_V, VALUE)):
        got = answer.project_rows(draw.tensor(TOKENS), draw.tensor(weight))
        same(got, draw.tensor(want), label=name, within=printed(4))


@check("project_linear", core=True)
def test_project_linear_printed_in_001(answer, draw):
    """The first column of V in document 001: 0.60, -0.35, 3.87 (it cuts the last to 3.86)."""
    got = answer.project_linear(draw.tensor(POEM), draw.tensor(POEM_VALUE))
    same(got, draw.tensor([[0.6038, 0.7434], [-0.3502, 0.5303], [3.8695, 2.4246]]), label="V",
         within=printed(4))  # fmt: skip
    same(got[:, 0], draw.tensor([0.60, -0.35, 3.87]), label="the first column of V",
         within=printed(2))  # fmt: skip


@check("project_columns", core=True)
def test_project_columns_printed_in_002(answer, draw):
    """Document 002's keys, queries and values once more, every token upright as in 004."""
    for name, weight, want in (("K", W_K, KEY), ("Q", W_Q, QUERY), ("V", W_V, VALUE)):
        upright, turned = (draw.tensor(rows).T.contiguous() for rows in (TOKENS, weight))
        got = answer.project_columns(upright, turned)
        same(got, draw.tensor(want).T, label=f"{name}^T", within=printed(4))


@check("dot_product_scores", core=True)
def test_dot_product_scores_printed_in_002(answer, draw):
    """The raw scores that document 002 prints in "Key and Query Vectors", to four digits."""
    got = answer.dot_product_scores(draw.tensor(QUERY_6), draw.tensor(KEY_6))
    same(got, draw.tensor(SCORES), within=printed(4))


@check()
@vary("dtype", OTHER_FLOATS)
@each(PLAIN)
def test_dtypes(answer, draw, case, dtype):
    """Catches an output that is always float32, and constants that do not follow the dtype."""
    laws.values(answer, draw.using(dtype), case)


@check()
@each([DOT, NAIVE_SCORES, *WITH_BIAS, DOT_SCORES])
def test_strides(answer, draw, case):
    """Catches `view` on memory that is not in order."""
    laws.strides(answer, draw, case)


@check()
@each(PLAIN)
def test_inputs_unchanged(answer, draw, case):
    """Catches in-place arithmetic on the caller's tensors, and results kept for later calls."""
    laws.inputs_unchanged(answer, draw, case)


@check()
@each(PLAIN)
def test_gradients(answer, draw, case):
    """Catches `.item()`, `.detach()` and new tensors that cut the graph; compared by value."""
    laws.gradients(answer, draw, case)


@check()
@each(devices.by_exercise([*PLAIN]))
def test_device_ready(answer, draw, case):
    """Catches what works on the CPU alone: a tensor made without `device=`, or moved away."""
    devices.device_ready(answer, draw, case)


@check("project_linear")
def test_project_linear_equals_pytorchs(answer, draw):
    """Holds the projection against torch.nn.Linear itself, with the layer's own weight and bias."""
    x, weight, bias = draw(2, 5, 7), draw(3, 7), draw(3, scale=2)
    oracle = F.linear(x, weight, bias)
    same(answer.project_linear(x, weight, bias), oracle)
    with aside():
        layer = torch.nn.Linear(7, 3, dtype=x.dtype, device=x.device)
    same(answer.project_linear(x, layer.weight, layer.bias), layer(x).detach())


@check("dot_product_scores")
def test_dot_product_scores_follow_their_keys(answer, draw):
    """Catches scores that depend on where a key stands: shuffled keys, shuffled columns."""
    query, key = query_key(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = scores64(query.double(), key.double())[:, order]
    same(answer.dot_product_scores(query, key[order]), want, like=query)


@check("dot_product")
def test_dot_product_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    refuses(
        lambda: answer.dot_product(draw(7), draw(5)), 7, 5,
        why="`a` has 7 entries and `b` has 5",
    )  # fmt: skip
    refuses(
        lambda: answer.dot_product(draw(7), draw(1)), 7, 1,
        why="`a` has 7 entries and `b` has 1",
    )  # fmt: skip
    refuses(
        lambda: answer.dot_product(draw(1), draw(7)), 7, 1,
        why="`a` has 1 entry and `b` has 7",
    )  # fmt: skip
    refuses(
        lambda: answer.dot_product(draw(7), draw(5, 7)), why="`a` is [7] and `b` is [5, 7]"
    )  # fmt: skip


@check("project_rows")
def test_project_rows_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    _refuses_misfits(answer.project_rows, draw(5, 7), draw(7, 3), draw(11, 3), draw)


@check("project_linear")
def test_project_linear_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    _refuses_misfits(answer.project_linear, draw(5, 7), draw(3, 7), draw(3, 11), draw)


@check("project_columns")
def test_project_columns_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    _refuses_misfits(answer.project_columns, draw(7, 5), draw(3, 7), draw(3, 11), draw)


def _refuses_misfits(project, x, weight, other, draw):
    wide = f"`weight` is {list(other.shape)}: it takes tokens 11 wide, and they are 7 wide"
    refuses(lambda: project(x, other), 7, 11, why=wide)
    for length in (1, 2, 5):
        long = f"`bias` has length {length} and the new tokens are 3 wide"
        refuses(lambda length=length: project(x, weight, draw(length)), length, 3, why=long)
    stack = torch.stack([weight, weight])
    refuses(lambda: project(x, stack), why=f"`weight` is {list(stack.shape)}, not one matrix")


@check("dot_product_scores")
def test_dot_product_scores_refuse_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    refuses(
        lambda: answer.dot_product_scores(draw(5, 3), draw(7, 2)), 3, 2,
        why="`query` is 3 wide and `key` is 2 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.dot_product_scores(draw(5, 3), draw(7, 1)), 3, 1,
        why="`query` is 3 wide and `key` is 1 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.dot_product_scores(draw(2, 5, 3), draw(1, 7, 3)), 2, 1,
        why="`query` has a batch of 2 and `key` a batch of 1",
    )  # fmt: skip
    refuses(
        lambda: answer.dot_product_scores(draw(2, 5, 3), draw(11, 7, 3)), 2, 11,
        why="`query` has a batch of 2 and `key` a batch of 11",
    )  # fmt: skip
    refuses(
        lambda: answer.dot_product_scores(draw(5, 3), draw(2, 7, 3)),
        why="`query` is [5, 3] and `key` is [2, 7, 3]: only one of them has a batch",
    )
    refuses(
        lambda: answer.dot_product_scores(draw(2, 5, 3), draw(7, 3)),
        why="`query` is [2, 5, 3] and `key` is [7, 3]: only one of them has a batch",
    )
