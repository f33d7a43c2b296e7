"""The coach of chapter 1."""

from __future__ import annotations

import torch

from grader.coach import Task, card
from grader.pictures.drawings import draws

TRACK = "core"
FORMULA = 'chapter 1, The formula: "score(a, b) = a . b"'
ALL_PAIRS = 'chapter 1, The formula: "The score (i, j) is the dot product of query i and key j"'
PRODUCT = (
    'chapter 1, The formula: "a single matrix product gives all of them" (after document 002, '
    '"Key and Query Vectors")'
)
PROJECTION = (
    'chapter 1, The formula: "the token times a learned matrix, plus a bias if there is one" '
    '(after document 000, "Query, Key and Value Vectors")'
)
WAYS = 'chapter 1, Shapes: "A projection can be written in three ways."'
STORED = (
    'the stub of project_linear: "nn.Linear stores one row of its weight for each number of the '
    'output" (after document 001, "The Matrix Math")'
)
SQUARE = 'chapter 1, Shapes: "a square one fits either way round"'
TURN = 'chapter 1, Shapes: "`.mT` and transpose(-2, -1) swap the last two dimensions"'
ANY = 'chapter 1, Shapes: "*batch stands for any number of dimensions before them"'
ONE_ROW = 'chapter 1, Shapes: "one row for each query and one column for each key"'
EACH_PAIR = (
    'the stub of naive_scores: "entry (i, j) is the dot product of token i and token j" (after '
    'document 002, "Naive Attention")'
)
DIAGONAL = 'the stub of naive_scores: "the diagonal holds the squared lengths"'
COSINE = 'the stub of dot_product: "it is not the cosine" (after document 001, "The Matrix Math")'
ONE_NUMBER = 'the stub of dot_product: "a tensor without dimensions, []"'
SAME_BIAS = 'the stub of project_rows: "gets the same bias, whatever its position"'
UPRIGHT = (
    'the stub of project_columns: "every column gets the whole bias" (after document 004, '
    '"Query projections with bias")'
)
SCALING = 'chapter 2, The formula: "scaled = Q K^T / sqrt(d_k)"'
MASKING = 'chapter 3, The formula: "A key that the query may not look at is called masked."'
SOFTMAX = 'chapter 4, The formula: "the division makes each row sum to 1"'
BATCH = card("batch")
DTYPE = card("dtype")
STRIDES = card("strides")
GRADIENT = card("gradient")


def _must_fit(fits, *tensors):
    if not fits:
        raise ValueError(f"the shapes do not fit: {[tuple(t.shape) for t in tensors]}")


def _vectors(a, b):
    _must_fit(a.dim() == 1 and a.shape == b.shape, a, b)


def _projection(inside, across, out):
    """Return a rule: dimension `across` of x meets `inside` of a weight that gives `out`."""

    def rule(x, weight, bias=None):
        _must_fit(weight.dim() == 2 and x.shape[across] == weight.shape[inside], x, weight)
        if bias is not None:
            _must_fit(bias.shape == weight.shape[out : out + 1], bias, weight)

    return rule


def _pair(query, key):
    same_batch = query.shape[:-2] == key.shape[:-2]
    _must_fit(same_batch and query.shape[-1] == key.shape[-1], query, key)


dot_product = Task(
    "dot_product",
    points=1,
    difficulty=1,
    minutes=5,
    hints=(
        "A dot product is one number: the products of entries in the same place, added up.",
        "Compare the two shapes first. Then multiply entry by entry, which leaves a vector, and "
        "bring that down to one number, which has to stay a tensor.",
        "`*` gives [d], `sum` over it gives []; `torch.dot` does both at once. `*` would also "
        "repeat a vector of length 1 in silence, so compare the shapes first.",
    ),
)
_dot_slip = dot_product.refusing(_vectors)


@_dot_slip(FORMULA)
def products_not_added(a, b):
    """These are the products, entry by entry: add them up to get one number."""
    return a * b


@_dot_slip(COSINE)
def cosine(a, b):
    """This is the cosine: you divided by the lengths of the vectors. A dot product is not
    divided."""
    return (a * b).sum() / (a.norm() * b.norm())


@_dot_slip(FORMULA)
def mean_of_products(a, b):
    """You took the mean of the products: a dot product is their sum, not divided by d."""
    return (a * b).mean()


@_dot_slip(SCALING)
def scaled_already(a, b):
    """You divided by the square root of d: that comes in chapter 2. Here the product stays as it
    is."""
    return (a * b).sum() / len(a) ** 0.5


@_dot_slip(FORMULA)
def every_entry_with_every_entry(a, b):
    """You multiplied every entry of `a` by every entry of `b`: multiply only entries in the same
    place."""
    return a.sum() * b.sum()


@_dot_slip(FORMULA)
def outer_product(a, b):
    """This is the outer product, a d by d table: a dot product is one number."""
    return a[:, None] * b


@_dot_slip(FORMULA)
def added_instead(a, b):
    """You added the entries of both vectors: multiply those in the same place, then add up."""
    return (a + b).sum()


@_dot_slip(FORMULA)
def first_product_only(a, b):
    """Only the first product came back: `return` is inside the loop, so it ends there."""
    return a[0] * b[0]


@_dot_slip(FORMULA)
def last_product_only(a, b):
    """Only the last product came back: `=` in the loop overwrites the others. Add to a total, with
    `+=`."""
    return a[-1] * b[-1]


@_dot_slip(FORMULA)
def last_entry_left_out(a, b):
    """The last entry is left out: range(d) already stops before d, so leave out the - 1."""
    return (a[:-1] * b[:-1]).sum()


@_dot_slip(FORMULA)
def first_entry_left_out(a, b):
    """The first entry is left out: counting starts at 0, not at 1."""
    return (a[1:] * b[1:]).sum()


@_dot_slip(FORMULA)
def first_vector_with_itself(a, b):
    """You multiplied `a` by itself: `b` is not used."""
    return (a * a).sum() + 0 * b.sum()


@_dot_slip(FORMULA)
def second_vector_with_itself(a, b):
    """You multiplied `b` by itself: `a` is not used."""
    return (b * b).sum() + 0 * a.sum()


@_dot_slip(FORMULA)
def distance(a, b):
    """This is the distance between the two vectors, which is small where they match. The score must
    be large there."""
    return ((a - b) ** 2).sum().sqrt()


@_dot_slip(FORMULA)
def signs_lost(a, b):
    """The signs are lost: a product below 0 has to lower the score."""
    return (a * b).abs().sum()


@_dot_slip(ONE_NUMBER)
def one_dimension_too_many(a, b):
    """The number is right, but its shape is [1]: the result has no dimensions, leave out
    `keepdim`."""
    return (a * b).sum(0, keepdim=True)


naive_scores = Task(
    "naive_scores",
    points=1,
    difficulty=1,
    minutes=5,
    hints=(
        "Entry (i, j) is the dot product of token i and token j. A matrix product is a table of "
        "just such numbers: rows of the left matrix with columns of the right one.",
        "So the tokens must be rows on the left and columns on the right. Swap only the last two "
        "dimensions, whatever comes before them.",
        "[*batch, n, d] times [*batch, d, n] gives [*batch, n, n]: `transpose(-2, -1)` or `.mT`, "
        "then `@`.",
    ),
)


def _turned(tensor):
    return tensor.transpose(-1, -2)


@naive_scores.slip(TURN)
def without_transpose(tokens):
    """This is tokens times tokens without a transpose: transpose the second factor, so that rows
    meet rows."""
    return tokens @ tokens


@naive_scores.slip(STRIDES)
def reshaped_instead_of_turned(tokens):
    """`view` and `reshape` keep the numbers in order and only cut them into new rows: it takes a
    transpose to swap rows and columns."""
    return tokens @ tokens.reshape(*tokens.shape[:-2], tokens.shape[-1], tokens.shape[-2])


@naive_scores.slip(EACH_PAIR)
def upper_half_only(tokens):
    """Only the scores above the diagonal are there: fill in the others, too."""
    return torch.triu(tokens @ _turned(tokens))


@naive_scores.slip(TURN)
def features_with_features(tokens):
    """You scored features against features, [d, d]: the transpose is on the wrong side."""
    return _turned(tokens) @ tokens


@naive_scores.slip(BATCH)
def turns_the_batch_too(tokens):
    """Right for one sequence, but with a batch `.T` and transpose(0, 1) swap the wrong dimensions:
    use `.mT`."""
    return tokens @ tokens.permute(*reversed(range(tokens.dim())))


@naive_scores.slip(BATCH)
def turned_with_t(tokens):
    """Right for one sequence, but `.t()` takes no batch: use `.mT` or transpose(-2, -1)."""
    return tokens @ tokens.t()


@naive_scores.slip(BATCH)
def sequences_meet(tokens):
    """Different sequences of the batch were scored against each other: score each one against
    itself only."""
    flat = tokens.reshape(-1, tokens.shape[-1])
    return flat @ flat.mT


@naive_scores.slip(BATCH)
def every_sequence_with_every_other(tokens):
    """Every sequence of the batch was scored against every other, [batch, n, batch, n]: tensordot,
    inner and outer do not treat the batch separately, `@` does."""
    return torch.tensordot(tokens, tokens, dims=([-1], [-1]))


@naive_scores.slip(COSINE)
def cosines(tokens):
    """These are cosines, your diagonal is all 1: do not divide by the lengths of the tokens."""
    unit = tokens / tokens.norm(dim=-1, keepdim=True)
    return unit @ _turned(unit)


@naive_scores.slip(GRADIENT)
def gradient_of_one_side_only(tokens):
    """The tokens are on both sides of the product, but the gradient flows back through one of them
    only: the other is cut off, by `.detach()`, `.data` or torch.no_grad."""
    return tokens @ _turned(tokens).detach()


@naive_scores.slip(GRADIENT)
def gradient_of_the_turned_side_only(tokens):
    """The tokens are on both sides of the product, but the gradient flows back through the
    transposed ones only: the other is cut off, by `.detach()`, `.data` or torch.no_grad."""
    return tokens.detach() @ _turned(tokens)


@naive_scores.slip(SCALING)
def naive_scaled(tokens):
    """You divided by the square root of d: naive scores are not scaled, that comes in chapter 2."""
    return tokens @ _turned(tokens) / tokens.shape[-1] ** 0.5


@naive_scores.slip(SOFTMAX)
def naive_softmaxed(tokens):
    """These are weights, each row sums to 1: stop at the scores, the softmax comes in chapter 4."""
    return torch.softmax(tokens @ _turned(tokens), -1)


@naive_scores.slip(EACH_PAIR)
def mixed_already(tokens):
    """You went on and mixed the tokens, [n, d]: return the scores alone, [n, n]."""
    return tokens @ _turned(tokens) @ tokens


@naive_scores.slip(EACH_PAIR)
def diagonal_only(tokens):
    """Each token was scored against itself only: every pair (i, j) has its own score."""
    return (tokens * tokens).sum(-1)


@naive_scores.slip(PRODUCT)
def squared_entries(tokens):
    """`*` multiplies entry by entry and adds nothing up: the matrix product is `@`."""
    return tokens * tokens


@naive_scores.slip(DIAGONAL)
def not_with_itself(tokens):
    """Your diagonal is 0: each token is scored against itself, too."""
    scores = tokens @ _turned(tokens)
    return scores * (1 - torch.eye(scores.shape[-1], dtype=scores.dtype, device=scores.device))


@naive_scores.slip(MASKING)
def only_backwards(tokens):
    """One triangle of your scores is empty: nothing is masked here, every token is scored against
    every other."""
    return torch.tril(tokens @ _turned(tokens))


@naive_scores.slip(FORMULA)
def mean_over_features(tokens):
    """You took the mean over the features: a dot product is a sum, not divided by d."""
    return tokens @ _turned(tokens) / tokens.shape[-1]


@naive_scores.slip(ANY)
def naive_squeezed(tokens):
    """`squeeze` removed dimensions of size 1 that belong to the batch or to the tokens."""
    return (tokens @ _turned(tokens)).squeeze()


@naive_scores.slip(FORMULA)
def naive_distances(tokens):
    """These are distances, 0 on the diagonal: a score is a dot product, which is large for a
    match."""
    apart = tokens[..., :, None, :] - tokens[..., None, :, :]
    return (apart**2).sum(-1).clamp_min(1e-12).sqrt()


@naive_scores.slip(DIAGONAL)
def diagonal_counted_twice(tokens):
    """The half above the diagonal was turned and added to itself: the diagonal, which is in both,
    counts twice. Leave it out of one of them, `triu(1)`."""
    upper = (tokens @ _turned(tokens)).triu()
    return upper + _turned(upper)


project_rows = Task(
    "project_rows",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "A projection is a matrix product. Which of the sizes of `x` and `weight` are equal? Those "
        "two meet on the inside and disappear.",
        "Here the tokens are rows and the weight is [d_in, d_out]: the product works without a "
        "transpose. Check the sizes first; the bias comes last, and only if there is one.",
        "[*batch, n, d_in] `@` [d_in, d_out] gives [*batch, n, d_out]. A bias [d_out] then lines "
        "up with the last dimension by itself. So would a bias of the wrong length 1: refuse it "
        "first.",
    ),
)
_rows_slip = project_rows.refusing(_projection(0, -1, 1))

project_linear = Task(
    "project_linear",
    points=2,
    difficulty=2,
    minutes=5,
    hints=(
        "nn.Linear stores its weight as [d_out, d_in]: one row for each number of the output.",
        "Transpose the weight, so that its d_in meets that of the tokens. You have built the rest "
        "in `project_rows`.",
        "`weight.T` is [d_in, d_out]. x [*batch, n, d_in] is on the left, and the bias [d_out] "
        "lies along the last dimension.",
    ),
)
_linear_slip = project_linear.refusing(_projection(1, -1, 0))

project_columns = Task(
    "project_columns",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "Tokens are columns, so the weight comes from the left, and the d_in of both meet on the "
        "inside.",
        "After the product a token is still a column, d_out high. Every column gets the whole "
        "bias: think about the direction in which it has to lie, and about what torch does by "
        "itself.",
        "[d_out, d_in] `@` [*batch, d_in, n] gives [*batch, d_out, n]. torch lines a bias [d_out] "
        "up with n: give it the shape [d_out, 1]. Or transpose x, use `project_rows`, and "
        "transpose back.",
    ),
)
_columns_slip = project_columns.refusing(_projection(1, -2, 0))


def _plus(out, bias):
    return out + bias if bias is not None else out


def _upright(bias):
    return None if bias is None else bias[:, None]


@_rows_slip(WAYS)
def rows_weight_transposed(x, weight, bias=None):
    """You transposed the weight: here it is [d_in, d_out] and needs no transpose."""
    return _plus(x @ weight.T, bias)


@_rows_slip(WAYS)
def rows_weight_first(x, weight, bias=None):
    """You wrote weight times tokens: when tokens are rows, they come first."""
    return _plus(weight @ x, bias)


@_rows_slip(WAYS)
def rows_left_upright(x, weight, bias=None):
    """Your tokens came back as columns: W^T X^T is right, but has to be transposed at the end."""
    return _turned(_plus(x @ weight, bias))


@_rows_slip(PROJECTION)
def rows_bias_forgotten(x, weight, bias=None):
    """The bias is not used: add it after the product."""
    return x @ weight


@_rows_slip(PROJECTION)
def rows_bias_subtracted(x, weight, bias=None):
    """You subtracted the bias: add it."""
    return _plus(x @ weight, None if bias is None else -bias)


@_rows_slip(PROJECTION)
def rows_bias_before_product(x, weight, bias=None):
    """You added the bias to the tokens before the product: add it after the product."""
    return _plus(x, bias) @ weight


@_rows_slip(PROJECTION)
def rows_bias_in_every_product(x, weight, bias=None):
    """You added the bias once for every input feature, in the loop over them: add it once, at the
    end."""
    return _plus(x @ weight, None if bias is None else bias * x.shape[-1])


@_rows_slip(GRADIENT)
def rows_bias_of_zeros_left_out(x, weight, bias=None):
    """A bias of zeros is not added: that changes no value, but it then gets no gradient. Ask
    `bias is not None`."""
    return _plus(x @ weight, bias if bias is not None and bias.any() else None)


@_rows_slip(PROJECTION)
def rows_bias_in_the_weight(x, weight, bias=None):
    """You added the bias to the weight, inside the brackets: add it to the product, X W + b."""
    return x @ _plus(weight, bias)


@_rows_slip(BATCH)
def rows_of_the_first_dimension(x, weight, bias=None):
    """A loop over `x` goes over its first dimension, which is the batch in [batch, n, d_in]: use @
    on the whole tensor."""
    return torch.stack([_plus(weight.T @ token, bias) for token in x])


@_rows_slip(SAME_BIAS)
def rows_bias_along_tokens(x, weight, bias=None):
    """Your bias runs along the tokens: every token, that is every row, gets the whole bias."""
    return _plus(x @ weight, _upright(bias))


@_rows_slip(SAME_BIAS)
def rows_bias_for_first_token(x, weight, bias=None):
    """Only the first token got the bias: every token gets it."""
    out = torch.matmul(x, weight)
    if bias is None:
        return out
    return torch.cat([out[..., :1, :] + bias, out[..., 1:, :]], -2)


@_rows_slip(PROJECTION)
def rows_bias_added_up(x, weight, bias=None):
    """You added the sum of the bias to everything: each new feature gets its own number from it."""
    return _plus(x @ weight, None if bias is None else bias.sum())


@_rows_slip(PROJECTION)
def rows_bias_twice(x, weight, bias=None):
    """The bias was added twice: once by F.linear or an nn.Linear, and once more by hand."""
    return _plus(_plus(x @ weight, bias), bias)


@_rows_slip(PROJECTION)
def rows_bias_at_the_wrong_end(x, weight, bias=None):
    """The column of ones is at one end, and the bias at the other end of the weight: both go
    first, or both last."""
    if bias is None:
        return x @ weight
    ones = torch.ones_like(x[..., :1])
    return torch.cat([ones, x], -1) @ torch.cat([weight, bias[None]])


@_rows_slip(PROJECTION)
def rows_summed_over_the_outputs(x, weight, bias=None):
    """The products are right, but the sum ran over the outputs: add up over the inputs, d_in."""
    return _plus(x * weight.sum(-1), bias)


@_rows_slip(PROJECTION)
def rows_bias_as_a_factor(x, weight, bias=None):
    """You multiplied by the bias: add it."""
    return x @ weight if bias is None else x @ weight * bias


@_rows_slip(WAYS)
def rows_entry_by_entry(x, weight, bias=None):
    """`*` multiplies entry by entry: a projection is a matrix product, `@`."""
    return _plus(x * weight, bias)


@_rows_slip(PROJECTION)
def rows_below_zero_cut(x, weight, bias=None):
    """Numbers below 0 became 0: a projection has no activation after it, leave out the relu."""
    return torch.relu(_plus(x @ weight, bias))


@_rows_slip(SCALING)
def rows_scaled(x, weight, bias=None):
    """You divided by the square root of d_in: only the scores are scaled, in chapter 2."""
    return _plus(x @ weight / x.shape[-1] ** 0.5, bias)


@_rows_slip(BATCH)
def rows_of_matrices_only(x, weight, bias=None):
    """Right for one sequence, but torch.mm takes no batch: use `@`."""
    return _plus(torch.mm(x, weight), bias)


@_rows_slip(ANY)
def rows_squeezed(x, weight, bias=None):
    """`squeeze` removed dimensions of size 1 that belong to the batch or to the tokens."""
    return _plus(x @ weight, bias).squeeze()


@_linear_slip(STORED)
def linear_not_transposed(x, weight, bias=None):
    """The transpose is missing: nn.Linear stores [d_out, d_in], but the product needs d_in
    first."""
    return _plus(x @ weight, bias)


@project_linear.refusing(_projection(0, -1, 1))(STORED)
def linear_handed_on_to_rows(x, weight, bias=None):
    """You handed the weight on to `project_rows` as it is: that wants it as [d_in, d_out], and
    nn.Linear stores [d_out, d_in]. Transpose it."""
    return _plus(x @ weight, bias)


@_linear_slip(STRIDES)
def linear_reshaped_instead_of_turned(x, weight, bias=None):
    """`view` and `reshape` keep the numbers in order and only cut them into new rows: it takes a
    transpose to swap rows and columns."""
    return _plus(x @ weight.reshape(weight.shape[1], weight.shape[0]), bias)


@_rows_slip(STRIDES)
def rows_reshaped_for_linear(x, weight, bias=None):
    """F.linear wants [d_out, d_in], and `reshape` and `view` only cut the numbers into new rows: it
    takes a transpose, or `x @ weight` without one."""
    return _plus(x @ _turned(weight.reshape(weight.shape[1], weight.shape[0])), bias)


@_linear_slip(SQUARE)
def linear_turned_only_if_needed(x, weight, bias=None):
    """A square weight is not transposed: always transpose it, even where it fits without."""
    fits = x.shape[-1] == weight.shape[0]
    return _plus(x @ (weight if fits else weight.T), bias)


@_linear_slip(WAYS)
def linear_weight_first(x, weight, bias=None):
    """You wrote weight times tokens: when tokens are rows, they come first, and W is transposed."""
    return _plus(weight @ x, bias)


@_linear_slip(WAYS)
def linear_left_upright(x, weight, bias=None):
    """Your tokens came back as columns: W X^T is right, but has to be transposed at the end."""
    return _turned(_plus(x @ weight.T, bias))


@_linear_slip(WAYS)
def linear_turns_all_around(x, weight, bias=None):
    """You transposed the result, too: (W x)^T is already x^T W^T, so one transpose is enough."""
    return _plus(_turned(x) @ weight.T, bias)


@_linear_slip(PROJECTION)
def linear_bias_forgotten(x, weight, bias=None):
    """The bias is not used: add it after the product."""
    return x @ weight.T


@_linear_slip(PROJECTION)
def linear_bias_subtracted(x, weight, bias=None):
    """You subtracted the bias: add it."""
    return _plus(x @ weight.T, None if bias is None else -bias)


@_linear_slip(PROJECTION)
def linear_bias_twice(x, weight, bias=None):
    """The bias was added twice: once by F.linear or an nn.Linear, and once more by hand."""
    return _plus(_plus(x @ weight.T, bias), bias)


@_linear_slip(PROJECTION)
def linear_bias_before_product(x, weight, bias=None):
    """You added the bias to the tokens before the product: add it after the product."""
    return _plus(x, bias) @ weight.T


@_linear_slip(PROJECTION)
def linear_bias_in_the_weight(x, weight, bias=None):
    """You added the bias to the weight, inside the brackets: add it to the product, X W^T + b."""
    return x @ (weight.T if bias is None else weight.T + bias)


@_linear_slip(BATCH)
def linear_of_the_first_dimension(x, weight, bias=None):
    """A loop over `x` goes over its first dimension, which is the batch in [batch, n, d_in]: use @
    on the whole tensor."""
    return torch.stack([_plus(weight @ token, bias) for token in x])


@_linear_slip(SAME_BIAS)
def linear_bias_along_tokens(x, weight, bias=None):
    """Your bias runs along the tokens: every token, that is every row, gets the whole bias."""
    return _plus(x @ weight.T, _upright(bias))


@_linear_slip(SAME_BIAS)
def linear_bias_for_first_token(x, weight, bias=None):
    """Only the first token got the bias: every token gets it."""
    return rows_bias_for_first_token(x, weight.T, bias)


@_linear_slip(PROJECTION)
def linear_bias_added_up(x, weight, bias=None):
    """You added the sum of the bias to everything: each new feature gets its own number from it."""
    return rows_bias_added_up(x, weight.T, bias)


@_linear_slip(WAYS)
def linear_entry_by_entry(x, weight, bias=None):
    """`*` multiplies entry by entry: a projection is a matrix product, `@`."""
    return _plus(x * weight, bias)


@_linear_slip(PROJECTION)
def linear_below_zero_cut(x, weight, bias=None):
    """Numbers below 0 became 0: a projection has no activation after it, leave out the relu."""
    return torch.relu(_plus(x @ weight.T, bias))


@_linear_slip(BATCH)
def linear_of_matrices_only(x, weight, bias=None):
    """Right for one sequence, but torch.mm takes no batch: use `@`."""
    return _plus(torch.mm(x, weight.T), bias)


@_linear_slip(ANY)
def linear_squeezed(x, weight, bias=None):
    """`squeeze` removed dimensions of size 1 that belong to the batch or to the tokens."""
    return _plus(x @ weight.T, bias).squeeze()


@_columns_slip(UPRIGHT)
def columns_bias_along_tokens(x, weight, bias=None):
    """Your bias runs along the tokens: each column gets all of it, as from bias[:, None], [d_out,
    1]."""
    return _plus(weight @ x, bias)


@_columns_slip(WAYS)
def columns_as_rows(x, weight, bias=None):
    """You treated the rows of `x` as tokens, x W^T + b: here every column is a token, W x + b."""
    return _plus(x @ weight.T, bias)


@_columns_slip(WAYS)
def columns_tokens_first(x, weight, bias=None):
    """You wrote tokens times weight: when tokens are columns, the weight comes from the left."""
    return _plus(x @ weight, _upright(bias))


@_columns_slip(WAYS)
def columns_weight_transposed(x, weight, bias=None):
    """You transposed the weight: [d_out, d_in] times [d_in, n] needs no transpose."""
    return _plus(weight.T @ x, _upright(bias))


@_columns_slip(WAYS)
def columns_come_back_as_rows(x, weight, bias=None):
    """Your tokens came back as rows, [n, d_out]: transpose them, the result has tokens as
    columns."""
    return _plus(_turned(x) @ weight.T, bias)


@_columns_slip(PROJECTION)
def columns_bias_forgotten(x, weight, bias=None):
    """The bias is not used: add it after the product."""
    return weight @ x


@_columns_slip(PROJECTION)
def columns_bias_subtracted(x, weight, bias=None):
    """You subtracted the bias: add it."""
    return _plus(weight @ x, None if bias is None else -bias[:, None])


@_columns_slip(UPRIGHT)
def columns_bias_before_product(x, weight, bias=None):
    """You added the bias to the tokens before the product: add it after the product."""
    return weight @ _plus(x, _upright(bias))


@_columns_slip(UPRIGHT)
def columns_bias_added_up(x, weight, bias=None):
    """You added the sum of the bias to everything: b 1^T is not a number, it is b once for each
    column."""
    return _plus(weight @ x, None if bias is None else bias.sum())


@_columns_slip(UPRIGHT)
def columns_bias_repeated_in_a_row(x, weight, bias=None):
    """`repeat` puts whole copies of the bias one after the other, and `view` cuts them up: with
    bias[:, None] torch repeats it along the columns by itself."""
    out = weight @ x
    if bias is None:
        return out
    return out + bias.repeat(out.shape[-1]).reshape(len(bias), out.shape[-1])


@_columns_slip(UPRIGHT)
def columns_bias_for_first_token(x, weight, bias=None):
    """Only the first column got the bias: every column gets it."""
    return _turned(rows_bias_for_first_token(_turned(x), weight.T, bias))


@_columns_slip(UPRIGHT)
def columns_plus_ones(x, weight, bias=None):
    """You added 1 instead of the bias: the row of ones in the formula only repeats b for each
    column."""
    return weight @ x if bias is None else weight @ x + 1 + 0 * bias[:, None]


@_columns_slip(TURN)
def columns_reshaped_instead_of_turned(x, weight, bias=None):
    """`view` and `reshape` keep the numbers in order and only cut them into new rows: it takes a
    transpose, `.mT`, to make rows of columns."""
    *batch, d_in, n = x.shape
    return _plus(x.reshape(*batch, n, d_in) @ weight.mT, bias).mT


@_columns_slip(WAYS)
def columns_entry_by_entry(x, weight, bias=None):
    """`*` multiplies entry by entry: a projection is a matrix product, `@`."""
    return _plus(weight * x, _upright(bias))


@_columns_slip(BATCH)
def columns_of_matrices_only(x, weight, bias=None):
    """Right for one sequence, but torch.mm takes no batch: use `@`."""
    return _plus(torch.mm(weight, x), _upright(bias))


@_columns_slip(BATCH)
def columns_turn_the_batch_too(x, weight, bias=None):
    """Right for one sequence, but with a batch `.T` and transpose(0, 1) swap the wrong dimensions:
    use `.mT`."""
    upside = x.permute(*reversed(range(x.dim())))
    out = _plus(upside @ weight.T, bias)
    return out.permute(*reversed(range(out.dim())))


@_columns_slip(ANY)
def columns_squeezed(x, weight, bias=None):
    """`squeeze` removed dimensions of size 1 that belong to the batch or to the tokens."""
    return _plus(weight @ x, _upright(bias)).squeeze()


dot_product_scores = Task(
    "dot_product_scores",
    points=2,
    difficulty=2,
    minutes=10,
    hints=(
        "One row for each query, one column for each key: entry (i, j) is query i . key j.",
        "Queries are rows on the left, keys are columns on the right. Compare widths and batches "
        "first: torch would repeat a batch of one in silence.",
        "[*batch, q, d_k] `@` [*batch, d_k, k] gives [*batch, q, k]; swap the last two dimensions "
        "of `key`. `shape[:-2]` is the batch, `shape[-1]` the width.",
    ),
)
_scores_slip = dot_product_scores.refusing(_pair)


@_scores_slip(PRODUCT)
def keys_not_turned(query, key):
    """The transpose is missing: queries are rows, so the keys must be columns."""
    return query @ key


@_scores_slip(ONE_ROW)
def keys_before_queries(query, key):
    """This is K Q^T, with the keys first: each row must belong to one query."""
    return key @ _turned(query)


@_scores_slip(PRODUCT)
def widths_with_widths(query, key):
    """You transposed the queries, not the keys: that is Q^T K, features with features."""
    return _turned(query) @ key


@_scores_slip(ALL_PAIRS)
def queries_with_queries(query, key):
    """You scored the queries against themselves: the keys are not used."""
    return query @ _turned(query)


@_scores_slip(ALL_PAIRS)
def keys_with_keys(query, key):
    """You scored the keys against themselves: the queries are not used."""
    return key @ _turned(key)


@_scores_slip(PRODUCT)
def last_feature_alone(query, key):
    """Only the last feature counts: the loop overwrites the sum, write += in place of =."""
    return query[..., -1:] @ _turned(key[..., -1:])


@_scores_slip(ONE_ROW)
def as_many_keys_as_queries(query, key):
    """Your loop over the keys runs as often as there are queries: there may be more keys, or fewer,
    and each has a column of its own."""
    columns = [(query * key[..., j : j + 1, :]).sum(-1) for j in range(query.shape[-2])]
    return torch.stack(columns, -1)


@_scores_slip(STRIDES)
def keys_reshaped_instead_of_turned(query, key):
    """`view` and `reshape` keep the numbers in order and only cut them into new rows: it takes a
    transpose to swap rows and columns."""
    return query @ key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


@_scores_slip(BATCH)
def turns_the_batch_of_keys_too(query, key):
    """Right for one sequence, but with a batch `.T` and transpose(0, 1) swap the wrong dimensions:
    use `.mT`."""
    return query @ key.permute(*reversed(range(key.dim())))


@_scores_slip(BATCH)
def keys_turned_with_t(query, key):
    """Right for one sequence, but `.t()` takes no batch: use `.mT` or transpose(-2, -1)."""
    return query @ key.t()


@_scores_slip(BATCH)
def batches_meet(query, key):
    """Different sequences of the batch were scored against each other: each has its own queries and
    keys."""
    return query.reshape(-1, query.shape[-1]) @ key.reshape(-1, key.shape[-1]).mT


@_scores_slip(BATCH)
def dimensions_counted_from_the_front(query, key):
    """Right for one sequence; `query[:, None]` and `key[None]` count dimensions from the front,
    where the batch is: count from the end, [..., :, None, :] and [..., None, :, :], or use `@`."""
    return (query[:, None] * key[None]).sum(-1)


@_scores_slip(BATCH)
def every_batch_with_every_other(query, key):
    """Every sequence of the batch was scored against every other, [batch, q, batch, k]: tensordot,
    inner and outer do not treat the batch separately, `@` does."""
    return torch.tensordot(query, key, dims=([-1], [-1]))


@_scores_slip(ALL_PAIRS)
def only_equal_places(query, key):
    """You scored query i against key i only: every query is scored against every key."""
    return (query * key).sum(-1)


@_scores_slip(PRODUCT)
def queries_times_keys(query, key):
    """`*` multiplies entry by entry and adds nothing up: the matrix product is `@`."""
    return query * key


@_scores_slip(SCALING)
def scores_scaled_already(query, key):
    """You divided by the square root of d_k: that comes in chapter 2. Here the scores are not
    scaled."""
    return query @ _turned(key) / key.shape[-1] ** 0.5


@_scores_slip(FORMULA)
def mean_of_the_products(query, key):
    """You divided by d_k, or took a mean: a score is the sum of the products."""
    return query @ _turned(key) / key.shape[-1]


@_scores_slip(SOFTMAX)
def scores_softmaxed(query, key):
    """These are weights, each row sums to 1: stop at the scores, the softmax comes in chapter 4."""
    return torch.softmax(query @ _turned(key), -1)


@_scores_slip(COSINE)
def scores_as_cosines(query, key):
    """These are cosines, all between -1 and 1: do not divide by the lengths of queries and keys."""
    query, key = (t / t.norm(dim=-1, keepdim=True) for t in (query, key))
    return query @ _turned(key)


@_scores_slip(MASKING)
def scores_only_backwards(query, key):
    """Your scores of later keys are 0: nothing is masked here."""
    return torch.tril(query @ _turned(key))


@_scores_slip(ANY)
def scores_squeezed(query, key):
    """`squeeze` removed dimensions of size 1 that belong to the batch, a query or a key."""
    return (query @ _turned(key)).squeeze()


@_scores_slip(DTYPE)
def scores_in_float32(query, key):
    """The products were added up in float32: of float64 inputs half of the digits are lost."""
    return (query.float() @ _turned(key.float())).to(query.dtype)


@_scores_slip(FORMULA)
def scores_as_distances(query, key):
    """These are distances, small where a key fits: a score is a dot product, which is large
    there."""
    apart = query[..., :, None, :] - key[..., None, :, :]
    return (apart**2).sum(-1).clamp_min(1e-12).sqrt()


@_scores_slip(FORMULA)
def products_added_over_the_keys(query, key):
    """The products of all pairs are there, and were added up over the keys: a score adds up over
    the features, the last dimension."""
    return (query[..., :, None, :] * key[..., None, :, :]).sum(-2)


# What `grader show` draws

BIAS = torch.tensor([1.0, -1.0, 2.0, 0.0])


@draws(dot_product)
def draw_dot_product(sketch):
    """How well any two tokens match: your dot product of every pair."""
    it = sketch.three()

    def every_pair(dot, given):
        (x,) = given
        return sketch.stack([sketch.stack([dot(a, b) for b in x]) for a in x])

    sketch.row(it.title)
    sketch.draw("tokens", it.x, it.words, range(5))
    products = sketch.use("dot_product", every_pair, it.x)
    sketch.draw("dot products", products, it.words, it.words, join="->",
                printed=it.printed.get("naive"))  # fmt: skip


@draws(naive_scores)
def draw_naive_scores(sketch):
    """Every token against every token: symmetric, with the squared lengths on the diagonal."""
    it = sketch.three()
    sketch.row(it.title)
    sketch.draw("tokens", it.x, it.words, range(5), made="T")
    scores = sketch.call("naive_scores", it.x)
    sketch.draw("naive scores", scores, it.words, it.words, made="T T^T", join="->",
                printed=it.printed.get("naive"))  # fmt: skip


@draws(project_rows)
def draw_project_rows(sketch):
    """Tokens as rows, weights on the right: queries, keys and values."""
    it = sketch.three()
    for name, weight in (("query", it.w_q), ("key", it.w_k), ("value", it.w_v)):
        sketch.row(f"{it.title} The {name}:" if name == "query" else f"The {name}:")
        sketch.draw("tokens", it.x, it.words, range(5), made="x")
        sketch.draw("weight", weight, range(5), range(4), made="[d_in, d_out]", join="@")
        made = sketch.call("project_rows", it.x, weight)
        sketch.draw(name, made, it.words, range(4), made="x W", join="=",
                    printed=it.printed.get(name))  # fmt: skip
    sketch.row("The value once more, with a bias of our own:")
    made = sketch.call("project_rows", it.x, it.w_v, BIAS)
    sketch.draw("bias", BIAS, ["b"], range(4))
    sketch.draw("value", made, it.words, range(4), made="x W + b", join="->")


@draws(project_linear)
def draw_project_linear(sketch):
    """Tokens as rows, the weight as nn.Linear stores it: a row for each number of the output."""
    it = sketch.poem()
    for name, weight in (("query", it.w_q), ("key", it.w_k), ("value", it.w_v)):
        sketch.row(f"{it.title} The {name}:" if name == "query" else f"The {name}:")
        sketch.draw("tokens", it.x, it.words, range(2), made="x")
        sketch.draw("weight", weight.T, range(2), range(2), made="[d_out, d_in]", join="@ T of")
        made = sketch.call("project_linear", it.x, weight.T)
        sketch.draw(name, made, it.words, range(2), made="x W^T", join="=",
                    printed=it.printed.get(name))  # fmt: skip
    sketch.row("The value once more, with a bias of our own:")
    made = sketch.call("project_linear", it.x, it.w_v.T, BIAS[:2])
    sketch.draw("bias", BIAS[:2], ["b"], range(2))
    sketch.draw("value", made, it.words, range(2), made="x W^T + b", join="->")


@draws(project_columns)
def draw_project_columns(sketch):
    """As in many textbooks: the weight on the left, and every token is a column."""
    it = sketch.three()
    for name, weight in (("query", it.w_q), ("key", it.w_k), ("value", it.w_v)):
        sketch.row(f"{it.title} The {name}:" if name == "query" else f"The {name}:")
        sketch.draw("weight", weight.T, range(4), range(5), made="[d_out, d_in]")
        sketch.draw("tokens", it.x.T, range(5), it.words, made="x", join="@")
        made = sketch.call("project_columns", it.x.T, weight.T)
        sketch.draw(name, made, range(4), it.words, made="W x", join="=",
                    printed=it.printed.get(f"{name} upright"))  # fmt: skip
    sketch.row("The value once more, with a bias of our own, as in document 004:")
    made = sketch.call("project_columns", it.x.T, it.w_v.T, BIAS)
    sketch.draw("bias", BIAS[:, None], range(4), ["b"])
    sketch.draw("value", made, range(4), it.words, made="W x + b 1^T", join="->")


@draws(dot_product_scores)
def draw_dot_product_scores(sketch):
    """Every query against every key: a row for each query, a column for each key."""
    for it in sketch.both():
        width = range(it.query.shape[1])
        sketch.row(it.title)
        sketch.draw("queries", it.query, it.words, width, made="Q")
        sketch.draw("keys", it.key, it.words, width, made="K")
        scores = sketch.call("dot_product_scores", it.query, it.key)
        sketch.draw("scores", scores, it.words, it.words, made="Q K^T", join="->",
                    printed=it.printed.get("scores"))  # fmt: skip
