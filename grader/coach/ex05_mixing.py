"""The coach of chapter 5."""

from __future__ import annotations

import torch

from grader.coach import Task, card
from grader.pictures.drawings import draws

TRACK = "core"
COMBINATION = (
    'the stub of linear_combination: "Add up the tokens, each one times its weight." (after '
    'document 002, "Linear Combinations")'
)
AS_THEY_ARE = 'the stub of linear_combination: "The weights are taken as they are"'
TAKEN = 'the stub of mix_values: "The weights are taken as they are"'
MIXTURE = (
    'chapter 5, The formula: "This is a linear combination, and it is all that attention does '
    'with content."'
)
FORMULA = 'chapter 5, The formula: "attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V"'
ONE_ROW_PER_QUERY = 'chapter 5, Shapes: "Rows of the weights are queries, columns are keys."'
SHAPES = (
    'the stub of mix_values: "row i is the linear combination of the value rows with row i of '
    'the weights"'
)
VECTOR = 'the stub of linear_combination: "The sum of the tokens, each times its weight [d]."'
SCALE = (
    'chapter 2, The formula: "d_k is the width of the keys, not their number." (after document '
    '001, "The second step")'
)
ROWS = (
    'chapter 4, The formula: "The softmax runs over the keys, so each query has a row of '
    'weights of its own." (after document 001, "The Matrix Math")'
)
VALUES = (
    'chapter 5, The formula: "the values are what is handed over" (after document 002, "Value '
    'Vectors")'
)
ROLES = (
    'chapter 5, The formula: "The queries and the keys only decide how much of each value to '
    'take" (after document 000, "Query, Key and Value Vectors in Self-Attention")'
)
PROJECTIONS = (
    'the stub of self_attention: "queries, keys and values are three projections of `x`" (after '
    'document 002, "Key and Query Vectors")'
)
CROSS_PROJECTIONS = (
    'the stub of cross_attention: "w_q: makes the queries, x @ w_q; a matrix [d, d_k]."'
)
MASKING = (
    'chapter 4, The formula: "In attention the mask and the scale come before the softmax" '
    '(after document 002, "Key and Query Vectors")'
)
MINUS_INFINITY = 'chapter 3, The formula: "A score of 0 would not mask anything"'
TRUE = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
BLIND = 'chapter 4, Shapes: "A query that may look at nothing gets zeros, not NaN."'
FUTURE = (
    'chapter 3, The formula: "a token may look at itself, too" (after document 000, "Masked '
    'Self-Attention")'
)
ASKED = 'the stub of attention: "None: everywhere."'
CAUSAL = (
    'the stub of self_attention: "whether each token sees only itself and the tokens before it"'
)
CROSS = (
    'chapter 5, Shapes: "Self-attention and cross-attention differ only in where the three '
    'inputs come from"'
)
MEMORY = (
    'the stub of cross_attention: "True on the memory tokens that may be looked at, the same '
    'for every query"'
)
QUERIES = 'chapter 3, Shapes: "mask[:, None, :] makes it [batch, 1, n]"'
BATCH = card("batch")
DIRECTION = 'chapter 3, Shapes: "Rows are queries, columns are keys."'


def _weights_fit(weights, tokens):
    if (*weights.shape[:-2], weights.shape[-1]) != tokens.shape[:-1]:
        raise ValueError(f"{tuple(weights.shape)} and {tuple(tokens.shape)} do not fit")


linear_combination = Task(
    "linear_combination",
    points=2,
    difficulty=1,
    minutes=5,
    hints=(
        "Each token is multiplied by its own weight, and the products are added up. The result is "
        "as wide as one token.",
        "Write it out for two tokens, one product after the other, then for any number of them: a "
        "vector of weights times a matrix whose rows are tokens.",
        "[n] times [n, d] is [d]: a matrix product does it. The other way: weights[:, None] is "
        "[n, 1] and lines up with the tokens, and then a sum over dim 0. Check n first.",
    ),
)
_combination_slip = linear_combination.refusing(_weights_fit)


@_combination_slip(COMBINATION)
def along_the_features(weights, tokens):
    """This is tokens times weights: it adds up the features of each token. The weights are for the
    rows."""
    return tokens @ weights


@_combination_slip(COMBINATION)
def weights_on_the_features(weights, tokens):
    """You weighted the features: weights * tokens lines the weights up with the columns, but a
    token is a row."""
    return (weights * tokens).sum(0)


@_combination_slip(COMBINATION)
def first_token_once_too_often(weights, tokens):
    """The sum began with the first token, and then that token was added again: begin with zeros."""
    return tokens[:1].sum(0) + weights @ tokens


@_combination_slip(VECTOR)
def a_sum_for_each_token(weights, tokens):
    """The right sum, but once for each token: begin with zeros of the shape of one token, [d]."""
    return (weights @ tokens).expand(tokens.shape)


@_combination_slip(COMBINATION)
def summed_over_features(weights, tokens):
    """The products are right, but the sum ran over the features: add up the tokens, dim 0."""
    return (weights[:, None] * tokens).sum(-1)


@_combination_slip(COMBINATION)
def not_added_up(weights, tokens):
    """Each token has its weight, but they are not added up: the result should be one vector,
    [d]."""
    return weights[:, None] * tokens


@_combination_slip(COMBINATION)
def added_up_to_a_number(weights, tokens):
    """Everything was added up to one number: sum over the tokens, and keep the features apart."""
    return (weights[:, None] * tokens).sum()


@_combination_slip(COMBINATION)
def divided_by_n(weights, tokens):
    """You divided by the number of tokens: the weights already say how much, so it is a sum."""
    return (weights[:, None] * tokens).mean(0)


@_combination_slip(AS_THEY_ARE)
def divided_by_their_sum(weights, tokens):
    """You divided the weights by their sum: take them as they are."""
    return weights / weights.sum() @ tokens


@_combination_slip(AS_THEY_ARE)
def softmax_of_the_weights(weights, tokens):
    """You took a softmax of the weights: they are weights already, take them as they are."""
    return torch.softmax(weights, -1) @ tokens


@_combination_slip(COMBINATION)
def weights_ignored(weights, tokens):
    """This is the plain sum of the tokens: the weights are not used."""
    return (weights * 0 + 1) @ tokens


@_combination_slip(COMBINATION)
def mean_of_the_tokens(weights, tokens):
    """This is the mean of the tokens: the weights are not used."""
    return (weights * 0 + 1 / len(weights)) @ tokens


@_combination_slip(COMBINATION)
def first_three_tokens(weights, tokens):
    """Only the first three tokens are used: here there may be more."""
    return weights[:3] @ tokens[:3]


@_combination_slip(COMBINATION)
def first_two_tokens(weights, tokens):
    """Only the first two tokens are used: go through all of them."""
    return weights[:2] @ tokens[:2]


@_combination_slip(COMBINATION)
def first_token_left_out(weights, tokens):
    """The first token is left out: counting starts at 0."""
    return weights[1:] @ tokens[1:]


@_combination_slip(COMBINATION)
def last_token_left_out(weights, tokens):
    """The last token is left out: the sum goes up to n - 1 and includes it."""
    return weights[:-1] @ tokens[:-1]


@_combination_slip(AS_THEY_ARE)
def negative_weights_dropped(weights, tokens):
    """Tokens with a negative weight are left out: take the weights as they are, also below 0."""
    return weights.clamp_min(0) @ tokens


@_combination_slip(AS_THEY_ARE)
def tokens_without_weight_left_out(weights, tokens):
    """Tokens with a weight of 0 are left out: that changes no value, but their weights then get no
    gradient. Take all of them."""
    return weights[weights != 0] @ tokens[weights != 0]


@_combination_slip(AS_THEY_ARE)
def weights_without_signs(weights, tokens):
    """The signs of the weights are lost: take the weights as they are, also below 0."""
    return weights.abs() @ tokens


@_combination_slip(VECTOR)
def still_a_matrix(weights, tokens):
    """The values are right, but in a matrix of one row, [1, d]: return a vector, [d]."""
    return weights[None] @ tokens


mix_values = Task(
    "mix_values",
    points=3,
    difficulty=2,
    minutes=5,
    hints=(
        "Row i of the weights says how much query i takes from each value. That is your linear "
        "combination, once for every query.",
        "All rows at once are one matrix product: weights first, then values. The number of keys "
        "is what both share, and it disappears.",
        "`@` on [*batch, q, k] and [*batch, k, d_v] gives [*batch, q, d_v]. It would also repeat a "
        "batch of 1: compare the batches and the numbers of keys first, and raise ValueError.",
    ),
)


def _values_fit(weights, values):
    _weights_fit(weights, values)


_mix_slip = mix_values.refusing(_values_fit)


@_mix_slip(ONE_ROW_PER_QUERY)
def weights_on_their_side(weights, value):
    """The weights were transposed: rows belong to queries, columns to the values."""
    return weights.mT @ value


@_mix_slip(SHAPES)
def values_on_their_side(weights, value):
    """The values were transposed: each value is a row, so weights @ value fits without a
    transpose."""
    return weights @ value.mT


@_mix_slip(SHAPES)
def values_first(weights, value):
    """This is value @ weights: the weights come first, one row of them for each query."""
    return value @ weights


@_mix_slip(SHAPES)
def last_key_alone(weights, value):
    """Only the last key's value is left: the loop overwrites the sum, write += in place of =."""
    return weights[..., -1:] @ value[..., -1:, :]


@_mix_slip(MIXTURE)
def one_by_one(weights, value):
    """You multiplied entry by entry (*): a mixture needs the matrix product (@)."""
    return weights * value


@_mix_slip(SHAPES)
def mixture_on_its_side(weights, value):
    """The mixtures are right, but transposed: one row for each query, [q, d_v]."""
    return (weights @ value).mT


@_mix_slip(MIXTURE)
def mix_not_added_up(weights, value):
    """Each value has its weight, but they are not added up: the sum over the keys is missing."""
    return weights[..., None] * value[..., None, :, :]


@_mix_slip(MIXTURE)
def mix_summed_over_the_queries(weights, value):
    """Each value has its weight, but you summed over the queries: sum over the keys, so that each
    query keeps its row."""
    return (weights[..., None] * value[..., None, :, :]).sum(-3)


@_mix_slip(BATCH)
def values_without_queries(weights, value):
    """Right for one sequence; in a batch the values line up with the queries: give them a dimension
    of size 1 for the queries, value[..., None, :, :], or use @."""
    return (weights[..., None] * value).sum(-2)


@_mix_slip(MIXTURE)
def divided_by_the_keys(weights, value):
    """You divided by the number of keys: the weights already say how much, so it is a sum."""
    return weights @ value / value.shape[-2]


@_mix_slip(TAKEN)
def softmax_again(weights, value):
    """You took a softmax of the weights: they are weights already, take them as they are."""
    return torch.softmax(weights, -1) @ value


@_mix_slip(TAKEN)
def rows_made_to_sum_to_1(weights, value):
    """You divided each row by its sum: take the weights as they are, rows of zeros included."""
    return weights / weights.sum(-1, keepdim=True) @ value


@_mix_slip(MIXTURE)
def plain_mean(weights, value):
    """Every query gets the mean of the values: the weights are not used."""
    return (weights * 0 + 1 / value.shape[-2]) @ value


@_mix_slip(MIXTURE)
def plain_sum(weights, value):
    """Every query gets the sum of the values: the weights are not used."""
    return (weights * 0 + 1) @ value


@_mix_slip(TAKEN)
def negative_shares_dropped(weights, value):
    """Values with a negative weight are left out: take the weights as they are, also below 0."""
    return weights.clamp_min(0) @ value


@_mix_slip(MIXTURE)
def last_value_left_out(weights, value):
    """The last value is left out: the sum includes all keys, also the last one."""
    return weights[..., :-1] @ value[..., :-1, :]


@_mix_slip(MIXTURE)
def first_value_left_out(weights, value):
    """The first value is left out: counting starts at 0."""
    return weights[..., 1:] @ value[..., 1:, :]


@_mix_slip(MIXTURE)
def largest_takes_all(weights, value):
    """Every query gets the value with its largest weight: a mixture takes a part of each of
    them."""
    return (weights == weights.amax(-1, keepdim=True)).to(value) @ value


@_mix_slip(ONE_ROW_PER_QUERY)
def one_for_all_queries(weights, value):
    """The queries were added up as well: each keeps a row of its own, [q, d_v]."""
    return (weights @ value).sum(-2)


@_mix_slip(ONE_ROW_PER_QUERY)
def first_query_only(weights, value):
    """Only the first query has an answer: every row of the weights gives one, [q, d_v]."""
    return weights[..., 0, :] @ value


@_mix_slip(BATCH)
def two_dimensions_only(weights, value):
    """torch.mm takes only matrices: torch.matmul, or @, takes batches as well."""
    return torch.mm(weights, value)


@_mix_slip(BATCH)
def three_dimensions_only(weights, value):
    """torch.bmm takes exactly one batch dimension: torch.matmul, or @, takes none or several."""
    return torch.bmm(weights, value)


attention = Task(
    "attention",
    points=4,
    difficulty=2,
    minutes=5,
    hints=(
        "Everything is there: chapter 4 makes the weights out of query, key and mask, and the "
        "function above mixes values by weights.",
        "The values have no influence on the weights. The scale comes from the width of the keys, "
        "even where the values have another width.",
        "`attention_weights`, with the mask, gives [*batch, q, k]; `mix_values` turns that into "
        "[*batch, q, d_v]. Both check their shapes already.",
    ),
)


def _scores(query, key, width=None):
    return query @ key.mT / (width or query.shape[-1]) ** 0.5


def _closed(scores, mask, fill=-torch.inf):
    return scores if mask is None else scores.masked_fill(~mask, fill)


def _softmax(scores, dim=-1):
    empty = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0), dim).masked_fill(empty, 0)


def _weights(query, key, mask=None, *, width=None, fill=-torch.inf, dim=-1):
    return _softmax(_closed(_scores(query, key, width), mask, fill), dim)


def _attend(query, key, value, mask=None, **how):
    return _weights(query, key, mask, **how) @ value


def _causal(x, ahead=0, n=None):
    n = x.shape[-2] if n is None else n
    return torch.ones(n, n, dtype=torch.bool, device=x.device).tril(ahead)


@attention.slip(BLIND)
def emptied_for_keys_nobody_sees(query, key, value, mask=None):
    """You emptied the rows for which mask.any(-2) is False, which speaks of keys that no query
    sees: a query that may attend to nothing is one for which mask.any(-1) is False."""
    out = _attend(query, key, value, mask)
    if mask is None or mask.dim() < 2 or mask.shape[-1] != query.shape[-2]:
        return out
    return out.masked_fill(~mask.any(-2)[..., None], 0)


@attention.slip(SCALE)
def mixture_scaled(query, key, value, mask=None):
    """You divided the mixture by the square root of d_k: divide the scores, before the softmax."""
    return _attend(query, key, value, mask, width=1) / key.shape[-1] ** 0.5


@attention.slip(ROWS)
def one_softmax_for_the_table(query, key, value, mask=None):
    """One softmax ran over the whole table of scores: each query has a softmax of its own, over
    its keys."""
    scores = _closed(_scores(query, key), mask)
    return _softmax(scores.flatten(-2)).reshape(scores.shape) @ value


@attention.slip(BLIND)
def single_key_always_open(query, key, value, mask=None):
    """Where there is a single key, the mask is dropped: it may be masked, too, and the query then
    gets zeros."""
    return _attend(query, key, value, None if key.shape[-2] == 1 else mask)


@attention.slip(SCALE)
def not_scaled(query, key, value, mask=None):
    """The scale is missing: divide the scores by the square root of d_k."""
    return _attend(query, key, value, mask, width=1)


@attention.slip(SCALE)
def masked_but_not_scaled(query, key, value, mask=None):
    """The scale is missing when there is a mask: it is needed with and without one."""
    return _attend(query, key, value, mask, width=None if mask is None else 1)


@attention.slip(SCALE)
def divided_by_d_k(query, key, value, mask=None):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k."""
    return _attend(query, key, value, mask, width=query.shape[-1] ** 2)


@attention.slip(SCALE)
def times_root_d_k(query, key, value, mask=None):
    """You multiplied by the square root of d_k: divide by it."""
    return _attend(query, key, value, mask, width=1 / query.shape[-1])


@attention.slip(SCALE)
def scaled_by_width_of_values(query, key, value, mask=None):
    """You scaled by the width of the values: it is the width of the keys, d_k. Here they differ."""
    return _attend(query, key, value, mask, width=value.shape[-1])


@attention.slip(SCALE)
def scaled_by_number_of_keys(query, key, value, mask=None):
    """You scaled by the number of keys: it is the width of a key, its last dimension."""
    return _attend(query, key, value, mask, width=key.shape[-2])


@attention.slip(ROWS)
def over_the_queries(query, key, value, mask=None):
    """The softmax ran over the queries, dim -2: each row of weights has to sum to 1, dim -1."""
    return _attend(query, key, value, mask, dim=-2)


@attention.slip(ONE_ROW_PER_QUERY)
def dimension_left_to_torch(query, key, value, mask=None):
    """F.softmax without `dim` takes dim 1 of a matrix and dim 0 of a batch: the keys are dim -1."""
    dim = 0 if max(query.dim(), 0 if mask is None else mask.dim()) in (0, 1, 3) else 1
    scores = _closed(_scores(query, key), mask)
    empty = torch.isneginf(scores).all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(empty, 0), dim).masked_fill(empty, 0) @ value


@attention.slip(ONE_ROW_PER_QUERY)
def keys_before_queries(query, key, value, mask=None):
    """Query and key have changed places: it is Q K^T, so that each row belongs to one query."""
    return _attend(key, query, value, None if mask is None else mask.mT)


@attention.slip(ONE_ROW_PER_QUERY)
def attention_weights_on_their_side(query, key, value, mask=None):
    """The weights were transposed before they were multiplied with the values: rows belong to
    queries."""
    return _weights(query, key, mask).mT @ value


@attention.slip(BLIND)
def zeros_as_wide_as_the_queries(query, key, value, mask=None):
    """Where nothing may be looked at, your zeros are as wide as the queries: what comes out is as
    wide as the values, [*batch, q, d_v]."""
    blind = mask is not None and not mask.any()
    return torch.zeros_like(query) if blind else _attend(query, key, value, mask)


@attention.slip(VALUES)
def keys_handed_over(query, key, value, mask=None):
    """You mixed the keys: they only decide how much, and the values are what is handed over."""
    return _attend(query, key, key, mask)


@attention.slip(VALUES)
def queries_handed_over(query, key, value, mask=None):
    """You mixed the queries: they only decide how much, and the values are what is handed over."""
    return _attend(query, key, query, mask)


@attention.slip(ROLES)
def values_compared(query, key, value, mask=None):
    """You compared the queries with the values: the scores are queries against keys."""
    return _attend(query, value, value, mask)


@attention.slip(ROLES)
def key_and_value_swapped(query, key, value, mask=None):
    """Key and value have changed places: keys are compared, values are handed over."""
    return _attend(query, value, key, mask)


@attention.slip(FORMULA)
def without_softmax(query, key, value, mask=None):
    """The softmax is missing: the values were mixed by the scores themselves."""
    return _closed(_scores(query, key), mask, 0.0) @ value


@attention.slip(FORMULA)
def without_values(query, key, value, mask=None):
    """These are the weights, [q, k]: they still have to be multiplied with the values."""
    return _weights(query, key, mask)


@attention.slip(FORMULA)
def softmax_twice(query, key, value, mask=None):
    """The softmax was applied twice: attention_weights has done it already, so the weights became
    too even."""
    return torch.softmax(_weights(query, key, mask), -1) @ value


@attention.slip(FORMULA)
def mean_of_the_values(query, key, value, mask=None):
    """Every query gets the mean of the values that it may look at: the scores have no influence."""
    return _softmax(_closed(_scores(query, key) * 0, mask)) @ value


@attention.slip(FORMULA)
def best_value_alone(query, key, value, mask=None):
    """Every query gets just the value of its best key: a softmax shares the weight, an argmax does
    not."""
    weights = _weights(query, key, mask)
    return ((weights == weights.amax(-1, keepdim=True)) & (weights > 0)).to(value) @ value


@attention.slip(FORMULA)
def sigmoid_instead(query, key, value, mask=None):
    """A sigmoid weighs each key on its own: a softmax shares 1 among all keys of a query."""
    return torch.sigmoid(_closed(_scores(query, key), mask)) @ value


@attention.slip(FORMULA)
def mixed_over_features(query, key, value, mask=None):
    """The softmax ran over the values, after the mix: it belongs to the scores, before it."""
    return torch.softmax(_closed(_scores(query, key), mask, 0.0) @ value, -1)


@attention.slip(MASKING)
def mask_ignored(query, key, value, mask=None):
    """The mask is ignored: masked keys still hand over their values."""
    return _attend(query, key, value)


@attention.slip(TRUE)
def mask_turned_round(query, key, value, mask=None):
    """The mask is inverted: True means "may attend", and you masked exactly those keys."""
    return _attend(query, key, value, None if mask is None else ~mask)


@attention.slip(DIRECTION)
def mask_on_its_side(query, key, value, mask=None):
    """The mask was transposed: its rows are queries, its columns are keys."""
    return _attend(query, key, value, None if mask is None else mask.mT)


@attention.slip(MASKING)
def mask_after_softmax(query, key, value, mask=None):
    """Masked after the softmax: the share of the masked keys is lost, and the rows sum to less than
    1."""
    weights = _weights(query, key)
    return (weights if mask is None else weights * mask) @ value


@attention.slip(MINUS_INFINITY)
def closed_with_zero(query, key, value, mask=None):
    """A masked score became 0, but exp(0) is 1: use minus infinity."""
    return _attend(query, key, value, mask, fill=0.0)


@attention.slip(MASKING)
def mask_added(query, key, value, mask=None):
    """You added the mask itself: True counts as 1, and nothing is masked."""
    scores = _scores(query, key)
    return _softmax(scores if mask is None else scores + mask) @ value


@attention.slip(BLIND)
def closed_with_a_large_number(query, key, value, mask=None):
    """Filled with a large negative number, a score like any other: where all others are lower, or
    closed as well, what is closed gets the weight. Use minus infinity."""
    return _attend(query, key, value, mask, fill=-1e4)


@attention.slip(BLIND)
def nan_for_a_masked_query(query, key, value, mask=None):
    """A query that may look at nothing gives NaN, as torch.softmax does: use attention_weights,
    which gives zeros."""
    return torch.softmax(_closed(_scores(query, key), mask), -1) @ value


@attention.slip(BLIND)
def all_masked_taken_for_no_mask(query, key, value, mask=None):
    """A mask that is all False was treated as no mask: test `mask is not None`, not mask.any()."""
    return _attend(query, key, value, mask if mask is not None and mask.any() else None)


@attention.slip(ROLES)
def keys_with_themselves(query, key, value, mask=None):
    """You compared the keys with themselves: the scores are queries against keys, a row for each
    query."""
    return _attend(key, key, value, mask if key.shape[-2] == query.shape[-2] else None)


@attention.slip(ASKED)
def causal_unasked(query, key, value, mask=None):
    """You masked the future although no mask was given: None means everywhere."""
    n = max(query.shape[-2], key.shape[-2])
    allowed = torch.ones(n, n, dtype=torch.bool, device=query.device).tril()
    allowed = allowed[: query.shape[-2], : key.shape[-2]]
    return _attend(query, key, value, allowed if mask is None else allowed & mask)


self_attention = Task(
    "self_attention",
    points=4,
    difficulty=3,
    minutes=10,
    hints=(
        "One sequence, three roles: the tokens themselves are neither queries nor keys nor values, "
        "and each role has its own projection of them.",
        "Project three times, each with its own weights, tokens as rows. If it is causal, make the "
        "mask of chapter 3 for n tokens. Then it is attention as above.",
        "`project_rows` gives [*batch, n, d_out], once for each weight. `causal_mask` gives [n, "
        "n]: n is the size of dim -2 of x, and the mask has to be on the device of x. Without "
        "`causal` the mask is None.",
    ),
)


def _self(x, w_q, w_k, w_v, mask, **how):
    return _attend(x @ w_q, x @ w_k, x @ w_v, mask, **how)


def _if(causal, mask):
    return mask if causal else None


@self_attention.slip(ROLES)
def query_and_key_swapped(x, w_q, w_k, w_v, causal=False):
    """Query and key have changed places: queries come from w_q, and each row of scores belongs to
    one query."""
    return _self(x, w_k, w_q, w_v, _if(causal, _causal(x)))


@self_attention.slip(PROJECTIONS)
def keys_made_by_w_q(x, w_q, w_k, w_v, causal=False):
    """Your keys are made by w_q, like the queries: keys have weights of their own, w_k."""
    return _self(x, w_q, w_q, w_v, _if(causal, _causal(x)))


@self_attention.slip(PROJECTIONS)
def queries_made_by_w_k(x, w_q, w_k, w_v, causal=False):
    """Your queries are made by w_k, like the keys: queries have weights of their own, w_q."""
    return _self(x, w_k, w_k, w_v, _if(causal, _causal(x)))


@self_attention.slip(VALUES)
def values_made_by_w_k(x, w_q, w_k, w_v, causal=False):
    """Your values are the keys: what is handed over is made by w_v."""
    return _self(x, w_q, w_k, w_k, _if(causal, _causal(x)))


@self_attention.slip(VALUES)
def values_made_by_w_q(x, w_q, w_k, w_v, causal=False):
    """Your values are the queries: what is handed over is made by w_v."""
    return _self(x, w_q, w_k, w_q, _if(causal, _causal(x)))


@self_attention.slip(VALUES)
def keys_and_values_swapped(x, w_q, w_k, w_v, causal=False):
    """w_k and w_v have changed places: w_k makes what is compared, w_v what is handed over."""
    return _self(x, w_q, w_v, w_k, _if(causal, _causal(x)))


@self_attention.slip(VALUES)
def tokens_handed_over(x, w_q, w_k, w_v, causal=False):
    """You mixed the tokens themselves: they go through w_v first."""
    return _attend(x @ w_q, x @ w_k, x, _if(causal, _causal(x)))


@self_attention.slip(FORMULA)
def tokens_added(x, w_q, w_k, w_v, causal=False):
    """You added the tokens themselves to the result: a model does that around its attention. Here,
    return the attention alone."""
    mixed = _self(x, w_q, w_k, w_v, _if(causal, _causal(x)))
    return mixed + x if mixed.shape == x.shape else mixed


@self_attention.slip(PROJECTIONS)
def no_projections(x, w_q, w_k, w_v, causal=False):
    """The weights are not used: the tokens were compared and mixed as they are."""
    return _attend(x, x, x, _if(causal, _causal(x)))


@self_attention.slip(FORMULA)
def naive(x, w_q, w_k, w_v, causal=False):
    """This is naive attention, without queries, keys, values and softmax."""
    return x @ x.mT @ x


@self_attention.slip(PROJECTIONS)
def weights_stored_as_linear_does(x, w_q, w_k, w_v, causal=False):
    """The projection weights were transposed, as nn.Linear needs it: here they are [d, d_k], so use
    x @ w."""
    return _self(x, w_q.mT, w_k.mT, w_v.mT, _if(causal, _causal(x)))


@self_attention.slip(SCALE)
def self_not_scaled(x, w_q, w_k, w_v, causal=False):
    """The scale is missing: divide the scores by the square root of d_k."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), width=1)


@self_attention.slip(SCALE)
def self_divided_by_d_k(x, w_q, w_k, w_v, causal=False):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), width=w_k.shape[-1] ** 2)


@self_attention.slip(SCALE)
def self_times_root_d_k(x, w_q, w_k, w_v, causal=False):
    """You multiplied by the square root of d_k: divide by it."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), width=1 / w_k.shape[-1])


@self_attention.slip(SCALE)
def scaled_by_width_of_tokens(x, w_q, w_k, w_v, causal=False):
    """You scaled by the width of the tokens, d: it is the width of the keys, d_k. Here they
    differ."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), width=x.shape[-1])


@self_attention.slip(SCALE)
def self_scaled_by_width_of_values(x, w_q, w_k, w_v, causal=False):
    """You scaled by the width of the values, d_v: it is the width of the keys, d_k. Here they
    differ."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), width=w_v.shape[-1])


@self_attention.slip(SCALE)
def scaled_by_number_of_tokens(x, w_q, w_k, w_v, causal=False):
    """You scaled by the number of tokens: it is the width of a key, its last dimension."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), width=x.shape[-2])


@self_attention.slip(ROWS)
def self_over_the_queries(x, w_q, w_k, w_v, causal=False):
    """The softmax ran over the queries, dim -2: each row of weights has to sum to 1, dim -1."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), dim=-2)


@self_attention.slip(ONE_ROW_PER_QUERY)
def self_weights_on_their_side(x, w_q, w_k, w_v, causal=False):
    """The weights were transposed before they were multiplied with the values: rows belong to
    queries."""
    return _weights(x @ w_q, x @ w_k, _if(causal, _causal(x))).mT @ (x @ w_v)


@self_attention.slip(FORMULA)
def self_without_softmax(x, w_q, w_k, w_v, causal=False):
    """The softmax is missing: the values were mixed by the scores themselves."""
    return _closed(_scores(x @ w_q, x @ w_k), _if(causal, _causal(x)), 0.0) @ (x @ w_v)


@self_attention.slip(FORMULA)
def self_without_values(x, w_q, w_k, w_v, causal=False):
    """These are the weights, [n, n]: they still have to be multiplied with the values."""
    return _weights(x @ w_q, x @ w_k, _if(causal, _causal(x)))


@self_attention.slip(FORMULA)
def token_added(x, w_q, w_k, w_v, causal=False):
    """You added the token itself to its row: a whole transformer does so, self-attention
    does not."""
    return x + _self(x, w_q, w_k, w_v, _if(causal, _causal(x)))


@self_attention.slip(ONE_ROW_PER_QUERY)
def one_row_for_all(x, w_q, w_k, w_v, causal=False):
    """The rows were averaged to one: every token keeps a new row of its own, [n, d_v]."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x))).mean(-2)


@self_attention.slip(CAUSAL)
def causal_ignored(x, w_q, w_k, w_v, causal=False):
    """`causal` is ignored: tokens see those that come after them."""
    return _self(x, w_q, w_k, w_v, None)


@self_attention.slip(CAUSAL)
def always_causal(x, w_q, w_k, w_v, causal=False):
    """You masked the future although nobody asked for it: only `causal=True` masks it."""
    return _self(x, w_q, w_k, w_v, _causal(x))


@self_attention.slip(CAUSAL)
def rows_joined_in_dim_one(x, w_q, w_k, w_v, causal=False):
    """The rows of the causal loop were joined along dim 1: those are the tokens only in a batch.
    Count from the end: dim=-2."""
    out = _self(x, w_q, w_k, w_v, _if(causal, _causal(x)))
    return torch.cat(out.split(1, -2), 1) if causal else out


@self_attention.slip(CAUSAL)
def causal_if_not_asked(x, w_q, w_k, w_v, causal=False):
    """`causal` works the wrong way round: True masks the future, False does not."""
    return _self(x, w_q, w_k, w_v, _if(not causal, _causal(x)))


@self_attention.slip(FUTURE)
def sees_only_the_future(x, w_q, w_k, w_v, causal=False):
    """Your causal mask is mirrored: each token sees itself and what comes after it."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x).mT))


@self_attention.slip(FUTURE)
def causal_mask_turned_round(x, w_q, w_k, w_v, causal=False):
    """Your causal mask is inverted: it masks the past and the token itself, and shows the
    future."""
    return _self(x, w_q, w_k, w_v, _if(causal, ~_causal(x)))


@self_attention.slip(FUTURE)
def not_itself(x, w_q, w_k, w_v, causal=False):
    """Your causal mask masks the token itself: compare with j <= i, not j < i."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x, -1)))


@self_attention.slip(FUTURE)
def one_step_ahead(x, w_q, w_k, w_v, causal=False):
    """Your causal mask lets each token see the next one: the edge of the triangle is one place too
    far to the right."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x, 1)))


@self_attention.slip(BATCH)
def n_counted_from_the_front(x, w_q, w_k, w_v, causal=False):
    """Your causal mask is made for x.shape[0] tokens: in a batch that is the number of sequences.
    Count from the end: n is x.shape[-2]."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x, n=x.shape[0])))


@self_attention.slip(BATCH)
def mask_of_another_size(x, w_q, w_k, w_v, causal=False):
    """Your causal mask is made for another size than there are tokens, such as x.shape[1] or the
    width of a query. Count from the end: n is x.shape[-2]."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x, n=x.shape[1])))


@self_attention.slip(PROJECTIONS)
def values_made_of_the_keys(x, w_q, w_k, w_v, causal=False):
    """The values are projected from the keys: queries, keys and values are all projected from x."""
    return _attend(x @ w_q, x @ w_k, x @ w_k @ w_v, _if(causal, _causal(x)))


@self_attention.slip(MINUS_INFINITY)
def future_closed_with_zero(x, w_q, w_k, w_v, causal=False):
    """The future got the score 0, but exp(0) is 1: use minus infinity."""
    return _self(x, w_q, w_k, w_v, _if(causal, _causal(x)), fill=0.0)


@self_attention.slip(MASKING)
def future_closed_after_softmax(x, w_q, w_k, w_v, causal=False):
    """The future was masked after the softmax: its share is lost, and the rows sum to less
    than 1."""
    weights = _weights(x @ w_q, x @ w_k)
    return (weights * _causal(x) if causal else weights) @ (x @ w_v)


cross_attention = Task(
    "cross_attention",
    points=5,
    difficulty=3,
    minutes=10,
    hints=(
        "Who looks? The tokens of x. At what? At the memory. So there is one projection of x, and "
        "two of the memory.",
        "The mask says which keys are real, [*batch, k]. Attention wants it for each query, "
        "[*batch, q, k]: the same row for every query. And the caller's mask may not broadcast: "
        "compare its shape with that of the memory first.",
        "`project_rows` three times: [*batch, q, d_k], [*batch, k, d_k], [*batch, k, d_v]. A new "
        "dimension of size 1 before the last, by `unsqueeze` or None in an index, makes the mask "
        "[*batch, 1, k], which broadcasts over the queries.",
    ),
)


def _row(memory_mask):
    return None if memory_mask is None else memory_mask[..., None, :]


def _made(x, weight):
    """Project, and refuse what does not fit as project_rows does."""
    if x.shape[-1] != weight.shape[0]:
        raise ValueError(f"{tuple(x.shape)} and {tuple(weight.shape)} do not fit")
    return x @ weight


@cross_attention.slip(CROSS)
def roles_swapped(x, memory, w_q, w_k, w_v, memory_mask=None):
    """x and memory have changed places: queries come from x, keys and values from memory."""
    out = _attend(_made(memory, w_q), _made(x, w_k), _made(x, w_v))
    return out if memory_mask is None else out * memory_mask[..., None]


@cross_attention.slip(CROSS)
def memory_ignored(x, memory, w_q, w_k, w_v, memory_mask=None):
    """This is self-attention on x: keys and values come from memory."""
    return _attend(_made(x, w_q), _made(x, w_k), _made(x, w_v), _row(memory_mask))


@cross_attention.slip(CROSS)
def x_ignored(x, memory, w_q, w_k, w_v, memory_mask=None):
    """This is self-attention on memory: the queries come from x."""
    return _attend(_made(memory, w_q), _made(memory, w_k), _made(memory, w_v), _row(memory_mask))


@cross_attention.slip(MEMORY)
def mask_of_nothing_taken_for_none(x, memory, w_q, w_k, w_v, memory_mask=None):
    """A mask in which nothing is True is taken for no mask, and all of the memory is looked at: ask
    `is not None`, and let a query that may attend to nothing get zeros."""
    if memory_mask is not None and not memory_mask.any():
        memory_mask = None
    return _cross(x, memory, w_q, w_k, w_v, memory_mask)


@cross_attention.slip(CROSS)
def queries_from_memory_keys_from_x(x, memory, w_q, w_k, w_v, memory_mask=None):
    """x and memory have changed places in queries and keys: x makes the queries, memory the
    keys."""
    query, key, value = _made(memory, w_q), _made(x, w_k), _made(memory, w_v)
    return _attend(query, key, value, _row(memory_mask))


@cross_attention.slip(CROSS)
def values_from_x(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Your values come from x: what is handed over comes from memory, like the keys."""
    return _attend(_made(x, w_q), _made(memory, w_k), _made(x, w_v), _row(memory_mask))


@cross_attention.slip(CROSS)
def keys_from_x(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Your keys come from x: what is compared with the queries comes from memory, like the
    values."""
    return _attend(_made(x, w_q), _made(x, w_k), _made(memory, w_v), _row(memory_mask))


@cross_attention.slip(VALUES)
def memory_handed_over(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You mixed the memory itself: it goes through w_v first."""
    return _attend(x @ w_q, memory @ w_k, memory, _row(memory_mask))


@cross_attention.slip(VALUES)
def memory_values_made_by_w_k(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Your values are the keys: what is handed over is made by w_v."""
    return _attend(x @ w_q, memory @ w_k, memory @ w_k, _row(memory_mask))


@cross_attention.slip(VALUES)
def memory_keys_and_values_swapped(x, memory, w_q, w_k, w_v, memory_mask=None):
    """w_k and w_v have changed places: w_k makes what is compared, w_v what is handed over."""
    return _attend(x @ w_q, memory @ w_v, memory @ w_k, _row(memory_mask))


@cross_attention.slip(CROSS_PROJECTIONS)
def memory_keys_made_by_w_q(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Your keys are made by w_q, like the queries: memory goes through w_k."""
    return _attend(x @ w_q, memory @ w_q, memory @ w_v, _row(memory_mask))


@cross_attention.slip(CROSS_PROJECTIONS)
def x_through_w_k(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Your queries are made by w_k, like the keys: x goes through w_q."""
    return _attend(x @ w_k, memory @ w_k, memory @ w_v, _row(memory_mask))


@cross_attention.slip(CROSS_PROJECTIONS)
def w_q_and_w_k_swapped(x, memory, w_q, w_k, w_v, memory_mask=None):
    """w_q and w_k have changed places: x goes through w_q, memory through w_k."""
    return _attend(x @ w_k, memory @ w_q, memory @ w_v, _row(memory_mask))


@cross_attention.slip(ONE_ROW_PER_QUERY)
def memory_asks(x, memory, w_q, w_k, w_v, memory_mask=None):
    """These are keys times queries: it is Q K^T, so that each row belongs to a token of x."""
    return _attend(memory @ w_k, x @ w_q, memory @ w_v, _row(memory_mask))


@cross_attention.slip(CROSS_PROJECTIONS)
def cross_weights_as_linear_does(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The projection weights were transposed, as nn.Linear needs it: here they are [d, d_k], so use
    x @ w."""
    return _attend(x @ w_q.mT, memory @ w_k.mT, memory @ w_v.mT, _row(memory_mask))


@cross_attention.slip(CROSS_PROJECTIONS)
def cross_no_projections(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The weights are not used: x and memory were compared and mixed as they are."""
    return _attend(x, memory, memory, _row(memory_mask))


def _cross(x, memory, w_q, w_k, w_v, memory_mask, **how):
    return _attend(x @ w_q, memory @ w_k, memory @ w_v, _row(memory_mask), **how)


@cross_attention.slip(SCALE)
def cross_not_scaled(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The scale is missing: divide the scores by the square root of d_k."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, width=1)


@cross_attention.slip(SCALE)
def cross_divided_by_d_k(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, width=w_k.shape[-1] ** 2)


@cross_attention.slip(SCALE)
def cross_scaled_by_width_of_x(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You scaled by the width of x: it is the width of the keys, d_k. Here they differ."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, width=x.shape[-1])


@cross_attention.slip(SCALE)
def cross_scaled_by_width_of_memory(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You scaled by the width of memory: it is the width of the keys, d_k. Here they differ."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, width=memory.shape[-1])


@cross_attention.slip(SCALE)
def cross_scaled_by_width_of_values(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You scaled by the width of the values: it is the width of the keys, d_k. Here they differ."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, width=w_v.shape[-1])


@cross_attention.slip(SCALE)
def cross_scaled_by_number_of_tokens(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You scaled by the number of memory tokens: it is the width of a key, its last dimension."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, width=memory.shape[-2])


@cross_attention.slip(ROWS)
def cross_over_the_queries(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The softmax ran over the queries, dim -2: each row of weights has to sum to 1, dim -1."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, dim=-2)


@cross_attention.slip(ONE_ROW_PER_QUERY)
def cross_weights_on_their_side(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The weights were transposed before they were multiplied with the values: rows belong to
    queries."""
    return _weights(x @ w_q, memory @ w_k, _row(memory_mask)).mT @ (memory @ w_v)


@cross_attention.slip(FORMULA)
def cross_without_softmax(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The softmax is missing: the values were mixed by the scores themselves."""
    return _closed(_scores(x @ w_q, memory @ w_k), _row(memory_mask), 0.0) @ (memory @ w_v)


@cross_attention.slip(CROSS)
def cross_causal(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You used a causal mask: memory has no future for x, all of its real tokens may be
    looked at."""
    q, k = x.shape[-2], memory.shape[-2]
    allowed = torch.ones(q, k, dtype=torch.bool, device=x.device).tril()
    mask = allowed if memory_mask is None else allowed & _row(memory_mask)
    return _attend(x @ w_q, memory @ w_k, memory @ w_v, mask)


@cross_attention.slip(MEMORY)
def memory_mask_ignored(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The mask is ignored: memory tokens that are not real still hand over their values."""
    return _cross(x, memory, w_q, w_k, w_v, None)


@cross_attention.slip(TRUE)
def memory_mask_turned_round(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The mask is inverted: True is for the memory tokens that may be looked at."""
    return _cross(x, memory, w_q, w_k, w_v, None if memory_mask is None else ~memory_mask)


@cross_attention.slip(MEMORY)
def memory_mask_on_the_queries(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You applied the mask to the queries, [..., :, None]: it is for the keys, the last
    dimension."""
    mask = None if memory_mask is None else memory_mask[..., :, None]
    return _attend(x @ w_q, memory @ w_k, memory @ w_v, mask)


@cross_attention.slip(QUERIES)
def memory_mask_unsqueezed_at_one(x, memory, w_q, w_k, w_v, memory_mask=None):
    """unsqueeze(1) is right for a mask [batch, k] only: without a batch the new dimension falls
    behind the keys. Count from the end: unsqueeze(-2), or [..., None, :]."""
    mask = None if memory_mask is None else memory_mask.unsqueeze(1)
    return _attend(x @ w_q, memory @ w_k, memory @ w_v, mask)


@cross_attention.slip(QUERIES)
def memory_mask_without_queries(x, memory, w_q, w_k, w_v, memory_mask=None):
    """The mask [*batch, k] has no dimension for the queries yet: make it [*batch, 1, k], counting
    from the end, since there may be no batch."""
    scores = _scores(x @ w_q, memory @ w_k)
    mask = None if memory_mask is None else memory_mask.expand(scores.shape)
    return _softmax(_closed(scores, mask)) @ (memory @ w_v)


@cross_attention.slip(MASKING)
def memory_mask_after_softmax(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Masked after the softmax, or in the values: the share of what is not real is lost, and the
    rows sum to less than 1."""
    weights = _weights(x @ w_q, memory @ w_k)
    return (weights if memory_mask is None else weights * _row(memory_mask)) @ (memory @ w_v)


@cross_attention.slip(MINUS_INFINITY)
def memory_closed_with_zero(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Memory that is not real got the score 0, but exp(0) is 1: use minus infinity."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, fill=0.0)


@cross_attention.slip(MINUS_INFINITY)
def memory_zeroed(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You set the memory that is not real to 0: its scores become 0, and exp(0) is 1. Mask the
    scores, with minus infinity."""
    held = memory if memory_mask is None else memory * memory_mask[..., None]
    return _cross(x, held, w_q, w_k, w_v, None)


@cross_attention.slip(BLIND)
def memory_closed_with_a_large_number(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Filled with a large negative number: where no memory is real, the result becomes the mean of
    it, not zeros."""
    return _cross(x, memory, w_q, w_k, w_v, memory_mask, fill=-1e4)


@cross_attention.slip(BLIND)
def nan_where_nothing_is_real(x, memory, w_q, w_k, w_v, memory_mask=None):
    """Where no memory is real you return NaN, as torch.softmax does: attention_weights gives
    zeros."""
    scores = _closed(_scores(x @ w_q, memory @ w_k), _row(memory_mask))
    return torch.softmax(scores, -1) @ (memory @ w_v)


@cross_attention.slip(FORMULA)
def x_added(x, memory, w_q, w_k, w_v, memory_mask=None):
    """You added x to the result: a whole transformer does so, cross-attention does not."""
    return x + _cross(x, memory, w_q, w_k, w_v, memory_mask)


# What `grader show` draws


@draws(linear_combination)
def draw_linear_combination(sketch):
    """Tokens added up, each times its weight: three sets of weights, one after the other."""
    it = sketch.three()
    n = len(it.words)
    first, all_alike = torch.zeros(n), torch.full((n,), 1 / n)
    first[:2] = 1 / min(n, 2)
    given = torch.stack([first, all_alike, (it.x.double() @ it.x.double().T)[0].float()])

    def each(combine, args):
        return sketch.stack([combine(weights, args[1]) for weights in args[0]])

    rows = ["first two", "all alike", "naive scores"]
    sketch.row(it.title)
    sketch.draw("weights", given, rows, it.words)
    sketch.draw("tokens", it.x, it.words, range(5), join="@")
    mixed = sketch.use("linear_combination", each, given, it.x)
    sketch.draw("combinations", mixed, rows, range(5), join="=",
                printed=it.printed.get("combinations"))  # fmt: skip


@draws(mix_values)
def draw_mix_values(sketch):
    """Weights times values: each query walks away with a mixture of its own."""
    for it in sketch.both():
        width = range(it.value.shape[1])
        sketch.row(it.title)
        sketch.draw("weights", it.weights, it.words, it.words, scale="weights",
                    printed=it.printed.get("weights"))  # fmt: skip
        sketch.draw("values", it.value, it.words, width, made="V", join="@",
                    printed=it.printed.get("value"))  # fmt: skip
        out = sketch.call("mix_values", it.weights, it.value)
        sketch.draw("output", out, it.words, width, made="W V", join="=",
                    printed=it.printed.get("result"))  # fmt: skip


def _before_softmax(sketch, it, query, key):
    scaled = sketch.call("scaled_scores", query, key)
    sketch.draw("scaled", scaled, it.words, it.words, made="Q K^T / sqrt(d_k)",
                printed=it.printed.get("scaled"))  # fmt: skip
    if it.causal:
        mask = sketch.call("causal_mask", len(it.words))
        sketch.draw("mask", mask, it.words, it.words, scale="mask", join="where",
                    printed=it.printed.get("mask"))  # fmt: skip


@draws(attention)
def draw_attention(sketch):
    """The whole formula: weights out of queries and keys, and with them a mixture of values."""
    for it in sketch.both():
        width, eye = range(it.value.shape[1]), torch.eye(len(it.words))
        sketch.row(it.title)
        _before_softmax(sketch, it, it.query, it.key)
        sketch.row()
        # values that are the identity hand over the weights
        weights = sketch.call("attention", it.query, it.key, eye, it.mask)
        sketch.draw("weights", weights, it.words, it.words, scale="weights", join="softmax ->",
                    printed=it.printed.get("weights"))  # fmt: skip
        sketch.draw("values", it.value, it.words, width, made="V", join="@")
        out = sketch.call("attention", it.query, it.key, it.value, it.mask)
        sketch.draw("output", out, it.words, width, join="=", printed=it.printed.get("result"))
        sketch.sums(weights)


def _projected(sketch, x, weights, words, names=("query", "key", "value"), source="x"):
    made = []
    for name, weight in zip(names, weights, strict=True):
        made.append(sketch.call("project_rows", x, weight))
        formula = f"{name[0].upper()} = {source} W_{name[0]}"
        sketch.draw(name, made[-1], words, range(weight.shape[1]), made=formula)
    return made


@draws(self_attention)
def draw_self_attention(sketch):
    """One sequence plays all three roles: it asks, it is asked, and it hands over."""
    for it in sketch.both():
        made = (it.w_q, it.w_k, it.w_v)
        sketch.row(it.title)
        sketch.draw("tokens", it.x, it.words, range(it.x.shape[1]), made="x")
        query, key, value = _projected(sketch, it.x, made, it.words)
        sketch.row()
        _before_softmax(sketch, it, query, key)
        sketch.row()
        weights = sketch.call("attention_weights", query, key, it.mask)
        sketch.draw("weights", weights, it.words, it.words, scale="weights", join="softmax ->",
                    printed=it.printed.get("weights"))  # fmt: skip
        sketch.draw("values", value, it.words, range(it.value.shape[1]), made="V", join="@")
        out = sketch.call("self_attention", it.x, *made, causal=it.causal)
        sketch.draw("output", out, it.words, range(it.value.shape[1]), join="=",
                    printed=it.printed.get("result"))  # fmt: skip
        sketch.sums(weights)


@draws(cross_attention)
def draw_cross_attention(sketch):
    """One sequence looks at another: its words ask, and the words of the other answer."""
    it, words = sketch.memory(), sketch.words or ["schreib", "ein", "Gedicht"]
    memory, seen = torch.cat([it.x, torch.tensor([[2.0, 3.0]])]), [*it.words, "(pad)"]
    real = torch.tensor([True, True, True, False])
    x = 2 * sketch.embedded(words, 2)
    sketch.row("The words that look, with vectors of our own; the layers are document 001's.")
    sketch.draw("x", x, words, range(2), made="random")
    (query,) = _projected(sketch, x, (it.w_q,), words, ("query",))
    sketch.row('The memory: document 001, "write a poem", and one place of padding.')
    sketch.draw("memory", memory, seen, range(2))
    key, value = _projected(sketch, memory, (it.w_k, it.w_v), seen, ("key", "value"), "memory")
    sketch.row()
    sketch.draw("memory mask", real, "", seen, scale="mask")
    sketch.row()
    weights = sketch.call("attention_weights", query, key, real[None])
    sketch.draw("weights", weights, words, seen, scale="weights", join="softmax ->")
    sketch.draw("values", value, seen, range(2), made="V", join="@")
    out = sketch.call("cross_attention", x, memory, it.w_q, it.w_k, it.w_v, real)
    sketch.draw("output", out, words, range(2), join="=")
    sketch.sums(weights)
