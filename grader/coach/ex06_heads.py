"""The coach of chapter 6."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.functional import dropout, linear

from grader.coach import Task, card
from grader.pictures.drawings import draws

TRACK = "core"
FOLD = 'chapter 6, Shapes: "A head owns columns, never tokens"'
ORDER = 'chapter 6, Shapes: "then the heads move in front of the tokens"'
BY_HAND = 'chapter 6, By hand: "the right shape, but each "head" is one token cut in two"'
BLOCKS = (
    'the stub of split_heads: "head i owns the i-th block of consecutive features of every '
    'token" (after document 000, "Implementation Details")'
)
UNFOLD = (
    'the stub of merge_heads: "each row holds the pieces of one token, head 0 first" (after '
    'document 000, "Implementation Details")'
)
MASK = 'chapter 6, Shapes: "A mask [*batch, q, k] has no dimension for the heads."'
TRUE = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
BEFORE = 'chapter 4, The formula: "In attention the mask and the scale come before the softmax"'
ASKED = 'the stub of MultiHeadAttention: "None: everywhere."'
FORMULA = 'chapter 6, The formula: "MultiHead(Q, K, V) = Concat(head_0, ..., head_(h-1)) W_O"'
WIDE = 'chapter 6, The formula: "One wide projection holds them all"'
SCALE = (
    'chapter 6, The formula: "the square root of the width of one head\'s keys, d_model / n_heads"'
)
OWN = 'chapter 6, The formula: "Each head has its own softmax over the keys"'
KEYS = (
    'chapter 4, The formula: "The softmax runs over the keys, so each query has a row of '
    'weights of its own."'
)
ROLES = (
    'chapter 5, The formula: "The queries and the keys only decide how much of each value to '
    'take" (after document 000, "Query, Key and Value Vectors in Self-Attention")'
)
CROSS = (
    'the stub of MultiHeadAttention: "it makes the keys and the values" (after document 000, '
    '"Attention Vs. Self-Attention")'
)
OUTPUT = (
    'the stub of MultiHeadAttention: "w_o: the output projection, applied to the joined heads." '
    '(after document 004, "Apply output projection")'
)
ANY_BATCH = card("batch")
ARGUMENTS = "exercises/RULES.md, arguments"
BLIND = 'chapter 4, Shapes: "A query that may look at nothing gets zeros, not NaN."'
BIAS_ROW = (
    'the stub of MultiHeadAttention: "A query that may attend to nothing gets the bias of `w_o`"'
)
SUBMODULES = 'the stub of MultiHeadAttention: "The module has four layers and no other weights"'
BIASES = 'the stub of MultiHeadAttention: "bias: whether the four layers have a bias."'
HEADS = (
    'the stub of MultiHeadAttention: "n_heads: how many heads; at least 1, and it divides d_model."'
)
STORED = (
    'the stub of project_linear: "nn.Linear stores one row of its weight for each number of the '
    'output"'
)

# Right, and what the slips are made of


def _split(x, n_heads):
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"{n_heads} heads do not divide {tuple(x.shape)}")
    return _fold(x, n_heads).transpose(-3, -2)


def _fold(x, n_heads):
    return x.unflatten(-1, [n_heads, x.shape[-1] // n_heads])


def _merge(x):
    if x.ndim < 3:
        raise ValueError(f"{tuple(x.shape)} has no heads")
    return x.transpose(-3, -2).flatten(start_dim=-2)


def _cut(x, n_heads):
    return x.reshape(*x.shape[:-2], n_heads, x.shape[-2], x.shape[-1] // n_heads)


def _join_cut(x):
    return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


def _interleave(x, n_heads):
    return x.unflatten(-1, (x.shape[-1] // n_heads, n_heads)).movedim(-1, -3)


def _deal_out(x):
    return x.movedim(-3, -1).flatten(-2)


def _of_width(x, n_heads):
    return x.unflatten(-1, (x.shape[-1] // n_heads, n_heads)).transpose(-3, -2)


def _softmax(scores, dim=-1):
    peak = scores.amax(dim, keepdim=True)
    powers = torch.exp(scores - peak.masked_fill(peak == -torch.inf, 0))
    whole = powers.sum(dim, keepdim=True)
    return powers / whole.masked_fill(whole == 0, 1)


def _attend(query, key, value, mask=None, *, width=None, fill=-torch.inf, softmax=_softmax):
    scores = query @ key.transpose(-1, -2) / (width or query.shape[-1]) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return softmax(scores) @ value


def _for_all_heads(mask, shape):
    return mask.expand(shape).unsqueeze(-3)


def _check(query, key, value, n_heads, mask):
    shapes = f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
    if len({(*x.shape[:-2], x.shape[-1]) for x in (query, key, value)}) > 1:
        raise ValueError(f"{shapes} do not fit together")
    if key.shape[-2] != value.shape[-2] or n_heads < 1 or query.shape[-1] % n_heads:
        raise ValueError(f"{shapes} and {n_heads} heads do not fit together")
    shape = (*query.shape[:-1], key.shape[-2])
    if mask is not None and torch.broadcast_shapes(mask.shape, shape) != shape:
        raise ValueError(f"mask {tuple(mask.shape)} does not broadcast to {shape}")
    return shape


def _multi(
    query, key, value, n_heads, mask=None,
    *, split=_split, merge=_merge, attend=_attend, place=_for_all_heads,
):  # fmt: skip
    try:
        shape = _check(query, key, value, n_heads, mask)
    except RuntimeError as problem:
        raise ValueError(f"{tuple(mask.shape)}, {query.shape}, {key.shape}") from problem
    parts = [split(x, n_heads) for x in (query, key, value)]
    return merge(attend(*parts, None if mask is None else place(mask, shape)))


split_heads = Task(
    "split_heads",
    points=3,
    difficulty=3,
    minutes=10,
    hints=(
        "A head owns columns: a block of neighbouring features of every token. No token is left "
        "out of any head.",
        "Cut the last dimension in two, first which head, then which of its features. Only then "
        "does the dimension of the heads move in front of the tokens.",
        "[*batch, n, d_model] becomes [*batch, n, n_heads, d_head] with reshape or unflatten; then "
        "a transpose of dims -3 and -2.",
    ),
)


@split_heads.slip(BY_HAND)
def cut_without_transpose(x, n_heads):
    """Your "heads" are tokens cut in pieces: reshape went straight to [n_heads, n, d_head]. Reshape
    to [n, n_heads, d_head] first, then swap heads and tokens."""
    return _cut(x, n_heads)


@split_heads.slip(ORDER)
def transpose_forgotten(x, n_heads):
    """The features are split correctly, but the tokens still come before the heads: swap the two
    dimensions, [n, n_heads, d_head] to [n_heads, n, d_head]."""
    return _fold(x, n_heads)


@split_heads.slip(BLOCKS)
def interleaved_features(x, n_heads):
    """Each head got every n_heads-th feature: a head owns neighbouring ones. Split the features
    into (n_heads, d_head), in this order."""
    return _interleave(x, n_heads)


@split_heads.slip(BLOCKS)
def number_taken_for_width(x, n_heads):
    """You made pieces that are n_heads wide: n_heads is how many there are, their width is
    d_model / n_heads."""
    return _of_width(x, n_heads)


@split_heads.slip(FOLD)
def tokens_dealt_out(x, n_heads):
    """You divided the tokens among the heads: every head gets all tokens, and a block of their
    features."""
    return torch.stack(x.tensor_split(n_heads, -2), -3)


@split_heads.slip(FOLD)
def one_head_kept(x, n_heads):
    """You return one piece only, the first block of features: return all heads, stacked in
    dim -3."""
    return x[..., : x.shape[-1] // n_heads]


@split_heads.slip(FOLD)
def pieces_lying_down(x, n_heads):
    """Each piece is transposed, features before tokens: it must be [n, d_head], one token
    per row."""
    return _split(x, n_heads).transpose(-1, -2)


@split_heads.slip(FOLD)
def pieces_in_a_tuple(x, n_heads):
    """The pieces are right, but they came as a tuple: stack them into one tensor, the heads in
    dim -3."""
    return x.chunk(n_heads, -1)


@split_heads.slip(ORDER)
def heads_put_last(x, n_heads):
    """The heads are the last dimension: they have to come before the tokens, [n_heads, n,
    d_head]."""
    return _split(x, n_heads).movedim(-3, -1)


@split_heads.slip(ANY_BATCH)
def heads_before_batch(x, n_heads):
    """Right for one sequence; in a batch your heads come before the batch: stack them in dim -3,
    not in dim 0."""
    return torch.stack(_split(x, n_heads).unbind(-3))


@split_heads.slip(ANY_BATCH)
def counted_from_the_front(x, n_heads):
    """transpose(1, 2) is right for exactly one batch dimension: with none or several, dims 1 and 2
    are something else. Count from the end: -3 and -2."""
    return _fold(x, n_heads).transpose(1, 2)


@split_heads.slip(ANY_BATCH)
def counted_without_batch(x, n_heads):
    """transpose(0, 1) is right for one sequence only: in a batch, dim 0 is the batch. Count from
    the end: -3 and -2."""
    return _fold(x, n_heads).transpose(0, 1)


@split_heads.slip(ORDER)
def turned_before_the_fold(x, n_heads):
    """You swapped tokens and features, then reshaped: split the features first, [n, n_heads,
    d_head], and then swap tokens and heads."""
    return _cut(x.mT.reshape(x.shape), n_heads)


@split_heads.slip(ANY_BATCH)
def one_batch_dimension_unpacked(x, n_heads):
    """`batch, n, d_model = x.shape` works for exactly three dimensions, but there may be none, one
    or several batch dimensions: write `*batch, n, d_model = x.shape`."""
    _batch, _n, _d_model = x.shape
    return _split(x, n_heads)


merge_heads = Task(
    "merge_heads",
    points=3,
    difficulty=3,
    minutes=10,
    hints=(
        "It is split_heads backwards: undo its two steps, in the other order.",
        "First the dimension of the heads moves back behind the tokens, so that all pieces of a "
        "token are side by side. Then two dimensions become one.",
        "A transpose of dims -3 and -2 gives [*batch, n, n_heads, d_head]; then flatten the last "
        "two. After a transpose the numbers do not lie in order: use `reshape` or `flatten`, not "
        "`view`.",
    ),
)


@merge_heads.slip(BY_HAND)
def joined_without_transpose(x):
    """Your rows mix several tokens: you reshaped [n_heads, n, d_head] without a transpose. Swap
    heads and tokens first, so that the pieces of one token are side by side."""
    return _join_cut(x)


@merge_heads.slip(UNFOLD)
def dealt_out_in_turn(x):
    """The features alternate between the heads: a row holds all of head 0's, then all of head
    1's. Flatten [n, n_heads, d_head], in this order."""
    return _deal_out(x)


@merge_heads.slip(UNFOLD)
def wrong_pair_swapped(x):
    """You swapped tokens and features (dims -2 and -1) before the reshape: swap heads and tokens,
    dims -3 and -2."""
    return _join_cut(x.transpose(-1, -2).reshape(x.shape))


@merge_heads.slip(UNFOLD)
def tokens_and_features_swapped(x):
    """You swapped dims -2 and -1 and joined the last two: swap heads and tokens, dims -3 and -2."""
    return x.transpose(-1, -2).flatten(-2)


@merge_heads.slip(ANY_BATCH)
def flattened_from_the_front(x):
    """flatten(1) is right for one sequence only, in a batch it also flattens the tokens: count from
    the end, flatten(-2)."""
    return x.transpose(-3, -2).flatten(1)


@merge_heads.slip(UNFOLD)
def joined_within_each_head(x):
    """You joined the tokens of each head, [n_heads, n * d_head]: swap heads and tokens first, then
    each token joins its pieces."""
    return x.flatten(-2)


@merge_heads.slip(UNFOLD)
def mean_of_heads(x):
    """You took the mean over the heads: keep every piece, side by side."""
    return x.mean(-3)


@merge_heads.slip(UNFOLD)
def sum_of_heads(x):
    """You added the heads up: keep every piece, side by side."""
    return x.sum(-3)


@merge_heads.slip(UNFOLD)
def heads_in_reverse(x):
    """The heads are joined in reverse, the last one first: head 0 comes first in each row."""
    return _merge(x.flip(-3))


@merge_heads.slip(UNFOLD)
def below_one_another(x):
    """The heads are below one another, n_heads * n rows: put them side by side, one row for each
    token."""
    return x.flatten(-3, -2)


@merge_heads.slip(UNFOLD)
def still_folded(x):
    """Heads and tokens are swapped back, but the last two dimensions are still separate: flatten
    them into one."""
    return x.transpose(-3, -2)


@merge_heads.slip(UNFOLD)
def features_before_tokens(x):
    """This is [d_model, n]: tokens are rows, so it is [n, d_model]."""
    return x.transpose(-1, -2).flatten(-3, -2)


@merge_heads.slip(UNFOLD)
def only_the_first_head(x):
    """Only head 0 is left: the pieces of all heads belong side by side in the result."""
    return x[..., 0, :, :]


@merge_heads.slip(ANY_BATCH)
def tokens_counted_from_the_front(x):
    """transpose(1, 2) is right for exactly one batch dimension: with none or several, dims 1 and 2
    are something else. Count from the end: -3 and -2."""
    return x.transpose(1, 2).flatten(-2)


@merge_heads.slip(ANY_BATCH)
def written_for_one_batch_dimension(x):
    """transpose(1, 2) and a reshape to three sizes are right for exactly one batch dimension. Count
    from the end: swap -3 and -2, and flatten(-2)."""
    swapped = x.transpose(1, 2)
    return swapped.reshape(swapped.shape[0], swapped.shape[1], -1)


@merge_heads.slip(ANY_BATCH)
def tokens_counted_without_batch(x):
    """transpose(0, 1) is right for one sequence only: in a batch, dim 0 is the batch. Count from
    the end: -3 and -2."""
    return x.transpose(0, 1).flatten(-2)


@merge_heads.slip(ANY_BATCH)
def sequences_side_by_side(x):
    """Right for one sequence; in a batch you put sequences side by side: `for piece in x` and
    `list(x)` go through dim 0. The heads are dim -3: x.unbind(-3)."""
    return torch.cat(list(x), -1)


@merge_heads.slip(ANY_BATCH)
def four_dimensions_unpacked(x):
    """`batch, n_heads, n, d_head = x.shape` works for exactly four dimensions, but there may be
    none, one or several before the heads: write `*batch, n_heads, n, d_head = x.shape`."""
    _batch, _n_heads, _n, _d_head = x.shape
    return _merge(x)


multi_head = Task(
    "multi_head",
    points=4,
    difficulty=3,
    minutes=10,
    hints=(
        "Once split, the heads are one more batch dimension: `attention` needs no change for them. "
        "The mask does: it has no such dimension.",
        "Split all three, run one attention on them, merge. Before that, check the sizes, and give "
        "the mask a dimension of size 1 where the heads are, so that it serves them all.",
        "`split_heads` gives [*batch, n_heads, q, d_head]; the scores are [*batch, n_heads, q, k]. "
        "`expand` the mask to [*batch, q, k]; `unsqueeze(-3)` then makes it [*batch, 1, q, k].",
    ),
)


@multi_head.slip(FORMULA)
def one_head_only(query, key, value, n_heads, mask=None):
    """This is a single attention over all features: n_heads changes nothing. Split first."""
    return _multi(query, key, value, 1, mask)


@multi_head.slip(SCALE)
def scaled_by_d_model(query, key, value, n_heads, mask=None):
    """You scaled by the square root of d_model: inside a head, vectors are d_head = d_model /
    n_heads wide."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, width=query.shape[-1])

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(SCALE)
def scale_missing(query, key, value, n_heads, mask=None):
    """The scale is missing: divide each head's scores by the square root of d_head."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, width=1)

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(SCALE)
def scaled_twice(query, key, value, n_heads, mask=None):
    """You scaled twice, or by d_head: divide once, by the square root of d_head. Your `attention`
    does that already."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, width=q.shape[-1] ** 2)

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(SCALE)
def scaled_by_n_heads(query, key, value, n_heads, mask=None):
    """You scaled by the square root of n_heads: it is the width of a head, d_head, not how many
    there are."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, width=n_heads)

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(UNFOLD)
def answers_dealt_out_in_turn(query, key, value, n_heads, mask=None):
    """The heads are right, but the features of their results alternate: `cat` puts them side by
    side, while `stack` with a new last dimension mixes them."""
    return _multi(query, key, value, n_heads, mask, merge=_deal_out)


@multi_head.slip(WIDE)
def last_head_for_all(query, key, value, n_heads, mask=None):
    """Every head works with the features of the last one: each has a block of its own. A lambda
    made in a loop looks its variable up when it is called, after the loop."""

    def split(x, n_heads):
        return _split(x, n_heads)[..., -1:, :, :].expand(*x.shape[:-2], n_heads, -1, -1)

    return _multi(query, key, value, n_heads, mask, split=split)


@multi_head.slip(WIDE)
def first_head_for_all(query, key, value, n_heads, mask=None):
    """Every head works with the features of the first one: each has a block of its own."""

    def split(x, n_heads):
        return _split(x, n_heads)[..., :1, :, :].expand(*x.shape[:-2], n_heads, -1, -1)

    return _multi(query, key, value, n_heads, mask, split=split)


@multi_head.slip(BY_HAND)
def cut_and_joined_without_transpose(query, key, value, n_heads, mask=None):
    """Your "heads" are tokens cut in pieces: reshape went straight to [n_heads, n, d_head], and
    straight back. Use split_heads and merge_heads."""
    return _multi(query, key, value, n_heads, mask, split=_cut, merge=_join_cut)


@multi_head.slip(BY_HAND)
def cut_but_merged(query, key, value, n_heads, mask=None):
    """Your "heads" are tokens cut in pieces: reshape went straight to [n_heads, n, d_head], with
    no transpose. Use split_heads."""
    return _multi(query, key, value, n_heads, mask, split=_cut)


@multi_head.slip(UNFOLD)
def joined_by_reshape(query, key, value, n_heads, mask=None):
    """The heads are right, but your rows mix several tokens: swap heads and tokens back before
    the reshape, or use merge_heads."""
    return _multi(query, key, value, n_heads, mask, merge=_join_cut)


def _across(query, key, value, n_heads, mask):
    parts = [_fold(x, n_heads) for x in (query, key, value)]
    return _attend(*parts, None if mask is None else mask.unsqueeze(-3)).flatten(-2)


@multi_head.slip(ORDER)
def heads_attend_to_each_other(query, key, value, n_heads, mask=None):
    """Within each token, heads attend to heads: the tokens come before the heads, and attention
    works on the last two dimensions. Swap dims -3 and -2 first."""
    return _across(query, key, value, n_heads, mask)


@multi_head.slip(BLOCKS)
def features_interleaved(query, key, value, n_heads, mask=None):
    """Each head got every n_heads-th feature: a head owns a block of neighbouring ones."""
    return _multi(query, key, value, n_heads, mask, split=_interleave, merge=_deal_out)


def _overlapping(x, n_heads):
    width = x.shape[-1] // n_heads
    return torch.stack([x[..., head : head + width] for head in range(n_heads)], -3)


@multi_head.slip(BLOCKS)
def heads_overlap(query, key, value, n_heads, mask=None):
    """Your heads overlap: head i begins at feature i * d_head, not at feature i."""
    return _multi(query, key, value, n_heads, mask, split=_overlapping)


def _ends_too_early(x, n_heads):
    width = x.shape[-1] // n_heads
    return [x[..., head * width : head + width] for head in range(n_heads)]


@multi_head.slip(BLOCKS)
def heads_end_too_early(query, key, value, n_heads, mask=None):
    """Your heads end too early: `i + 1 * d_head` is i + d_head, write (i + 1) * d_head."""
    _multi(query, key, value, n_heads, mask)
    parts = zip(*(_ends_too_early(x, n_heads) for x in (query, key, value)), strict=True)
    return torch.cat([_attend(*part, mask) for part in parts], -1)


@multi_head.slip(BLOCKS)
def n_heads_taken_for_width(query, key, value, n_heads, mask=None):
    """Your heads are n_heads wide: n_heads is how many there are, and d_model / n_heads their
    width."""
    return _multi(query, key, value, n_heads, mask, split=_of_width)


@multi_head.slip(UNFOLD)
def not_merged(query, key, value, n_heads, mask=None):
    """The heads are right, but still apart: merge them into one row for each token."""
    return _multi(query, key, value, n_heads, mask, merge=lambda x: x)


@multi_head.slip(UNFOLD)
def averaged(query, key, value, n_heads, mask=None):
    """You took the mean over the heads: put their answers side by side."""
    return _multi(query, key, value, n_heads, mask, merge=lambda x: x.mean(-3))


@multi_head.slip(UNFOLD)
def joined_in_reverse(query, key, value, n_heads, mask=None):
    """The heads are joined in reverse, the last one first: head 0 comes first in each row."""
    return _multi(query, key, value, n_heads, mask, merge=lambda x: _merge(x.flip(-3)))


@multi_head.slip(FORMULA)
def weights_averaged(query, key, value, n_heads, mask=None):
    """The weights were averaged over the heads before they were applied to the values: each head
    mixes its values by its own weights."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, softmax=lambda scores: _softmax(scores).mean(-3, True))

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(FORMULA)
def weights_of_the_first_head(query, key, value, n_heads, mask=None):
    """All heads use the weights of head 0: each has its own, from its own features of query and
    key."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, softmax=lambda scores: _softmax(scores)[..., :1, :, :])

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(ROLES)
def key_and_value_swapped(query, key, value, n_heads, mask=None):
    """Keys and values have changed places: compare queries with keys, mix values."""
    return _multi(query, value, key, n_heads, mask)


@multi_head.slip(ROLES)
def query_and_key_swapped(query, key, value, n_heads, mask=None):
    """Queries and keys have changed places: each row of scores must belong to one query."""

    def attend(q, k, v, mask):
        return _attend(k, q, v, mask)

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(ROLES)
def keys_mixed(query, key, value, n_heads, mask=None):
    """You mixed the keys: mix the values."""
    return _multi(query, key, key, n_heads, mask)


@multi_head.slip(ROLES)
def values_compared(query, key, value, n_heads, mask=None):
    """You compared the queries with the values: the scores are queries against keys."""
    return _multi(query, value, value, n_heads, mask)


@multi_head.slip(ROLES)
def keys_with_themselves(query, key, value, n_heads, mask=None):
    """You compared the keys with themselves: the scores are queries against keys, a row for each
    query."""
    _check(query, key, value, n_heads, mask)
    return _multi(key, key, value, n_heads, mask if key.shape == query.shape else None)


@multi_head.slip(KEYS)
def over_the_queries(query, key, value, n_heads, mask=None):
    """The softmax ran over the queries (dim -2): the weights of one query must sum to 1."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, softmax=lambda scores: _softmax(scores, -2))

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(OWN)
def over_the_heads(query, key, value, n_heads, mask=None):
    """The softmax ran over the heads (dim -3): each head has its own, over the keys, dim -1."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, softmax=lambda scores: _softmax(scores, -3))

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(OWN)
def one_softmax_for_all(query, key, value, n_heads, mask=None):
    """One softmax ran over all heads together: each head has its own, over the keys, dim -1."""

    def softmax(scores):
        joined = scores.transpose(-3, -2)
        return _softmax(joined.flatten(-2)).reshape(joined.shape).transpose(-3, -2)

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, softmax=softmax)

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(MASK)
def mask_ignored(query, key, value, n_heads, mask=None):
    """The mask is ignored: pass it on to the attention of every head."""
    return _multi(query, key, value, n_heads)


@multi_head.slip(TRUE)
def mask_turned_round(query, key, value, n_heads, mask=None):
    """The mask is inverted: True means "may attend", and you masked exactly those keys."""
    return _multi(query, key, value, n_heads, mask, place=lambda m, s: ~_for_all_heads(m, s))


@multi_head.slip(MASK)
def batch_of_the_mask_on_heads(query, key, value, n_heads, mask=None):
    """The mask's batch landed on the heads: give it a dimension for the heads, [*batch, 1, q, k].
    Without one, head 1 gets the mask of sequence 1. The same happens if the masks are repeated
    in the order 0 1 2 0 1 2."""
    return _multi(query, key, value, n_heads, mask, place=lambda m, _: m)


@multi_head.slip(MASK)
def unsqueezed_at_one(query, key, value, n_heads, mask=None):
    """unsqueeze(1) is right for a mask [batch, q, k] only: in other masks the new dimension falls
    between queries and keys. Count from the end: unsqueeze(-3)."""
    parts = [_split(x, n_heads) for x in (query, key, value)]
    return _merge(_attend(*parts, None if mask is None else mask.unsqueeze(1)))


@multi_head.slip(MASK)
def unsqueezed_before_the_keys(query, key, value, n_heads, mask=None):
    """The new dimension of the mask stands between queries and keys, so its queries line up with
    the heads: the heads come before the queries, unsqueeze(-3)."""
    parts = [_split(x, n_heads) for x in (query, key, value)]
    return _merge(_attend(*parts, None if mask is None else mask.unsqueeze(-2)))


@multi_head.slip(MASK)
def mask_of_keys_fails(query, key, value, n_heads, mask=None):
    """A mask of the keys alone, [k], has too few dimensions for unsqueeze(-3) or [..., None, :, :]:
    it fits every head as it is."""
    return _multi(query, key, value, n_heads, mask, place=lambda m, _: m.unsqueeze(-3))


@multi_head.slip(MASK)
def first_head_masked(query, key, value, n_heads, mask=None):
    """Only head 0 uses the mask: it is the same for every head."""

    def place(mask, shape):
        rest = torch.ones(
            *shape[:-2], n_heads - 1, *shape[-2:], dtype=torch.bool, device=mask.device
        )
        return torch.cat([_for_all_heads(mask, shape), rest], -3)

    return _multi(query, key, value, n_heads, mask, place=place)


@multi_head.slip(BEFORE)
def mask_after_the_softmax(query, key, value, n_heads, mask=None):
    """Masked after the softmax: the weights of the masked keys are lost, the rest sum to less
    than 1. Mask the scores."""

    def attend(q, k, v, mask):
        closed = 1 if mask is None else mask
        return _attend(q, k, v, softmax=lambda scores: _softmax(scores) * closed)

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(BLIND)
def nan_for_a_masked_query(query, key, value, n_heads, mask=None):
    """A query that may look at nothing gives NaN: torch.softmax divides 0 by 0 there. Your own
    softmax of chapter 4 gives zeros."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, softmax=lambda scores: torch.softmax(scores, -1))

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(BLIND)
def everything_for_a_masked_query(query, key, value, n_heads, mask=None):
    """Filled with a large negative number: a query that may look at nothing then sees all. Use
    minus infinity."""

    def attend(q, k, v, mask):
        return _attend(q, k, v, mask, fill=-3e4)

    return _multi(query, key, value, n_heads, mask, attend=attend)


@multi_head.slip(BLIND)
def all_masked_taken_for_no_mask(query, key, value, n_heads, mask=None):
    """A mask that is all False was treated as no mask: test `mask is not None`, not mask.any()."""
    return _multi(query, key, value, n_heads, mask if mask is not None and mask.any() else None)


@multi_head.slip(ANY_BATCH)
def three_dimensions_unpacked(query, key, value, n_heads, mask=None):
    """`batch, q, d_model = query.shape` works for exactly three dimensions, but there may be none,
    one or several batch dimensions: write `*batch, q, d_model = query.shape`."""
    _batch, _n, _d_model = query.shape
    return _multi(query, key, value, n_heads, mask)


MultiHeadAttention = Task(
    "MultiHeadAttention",
    points=6,
    difficulty=4,
    minutes=20,
    hints=(
        "MultiHead(Q, K, V) = Concat(heads) W_O: three projections, `multi_head`, one projection. "
        "Queries come from x, keys and values from what is looked at.",
        "In __init__: call the one of nn.Module first, then refuse an n_heads that does not fit, "
        "then four nn.Linear assigned to self. In forward: decide what is looked at, check the "
        "widths, project, call `multi_head`, project.",
        "Each layer is an `nn.Linear` from d_model to d_model, with or without a bias, and serves "
        "all heads at once. Without a memory, x looks at itself. The shapes are [*batch, q, "
        "d_model] and [*batch, k, d_model], and the mask goes to `multi_head` as it is.",
    ),
)


class _Layer(nn.Module):
    """Right; each slip overrides one step."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"{n_heads} heads do not divide {d_model}")
        self.d_model, self.n_heads = d_model, n_heads
        self.make(d_model, bias)

    def make(self, d_model, bias):
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_v(memory)

    def mix(self, query, key, value, mask):
        return _multi(query, key, value, self.n_heads, mask)

    def finish(self, mixed, x):
        return self.w_o(mixed)

    def forward(self, x, memory=None, mask=None):
        memory = memory if memory is not None else x
        if {x.shape[-1], memory.shape[-1]} != {self.d_model}:
            raise ValueError(f"{tuple(x.shape)}, {tuple(memory.shape)}: not {self.d_model} wide")
        return self.finish(self.mix(*self.project(x, memory), mask), x)


@MultiHeadAttention.slip(OUTPUT)
class w_o_forgotten(_Layer):
    """The joined heads are returned as they are: the output projection w_o was never applied."""

    def finish(self, mixed, x):
        return mixed


@MultiHeadAttention.slip(ROLES)
class values_from_the_keys(_Layer):
    """The values are made of the keys, w_v(w_k(memory)): w_v is applied to the memory itself."""

    def project(self, x, memory):
        keys = self.w_k(memory)
        return self.w_q(x), keys, self.w_v(keys)


@MultiHeadAttention.slip(ROLES)
class keys_and_values_from_the_queries(_Layer):
    """Without a memory, keys and values are made of the queries, w_k(w_q(x)) and w_v(w_q(x)): all
    three are made of x itself. Keep x under its name when you project it."""

    def project(self, x, memory):
        query = self.w_q(x)
        memory = query if memory is x else memory
        return query, self.w_k(memory), self.w_v(memory)


@MultiHeadAttention.slip(OUTPUT)
class w_o_on_the_values(_Layer):
    """w_o was applied to the values, before the heads: it is applied to the joined heads, after
    them."""

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_o(self.w_v(memory))

    def finish(self, mixed, x):
        return mixed


@MultiHeadAttention.slip(OUTPUT)
class w_v_and_w_o_swapped(_Layer):
    """w_v and w_o have changed places: w_v makes the values, w_o is applied to the joined
    heads."""

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_o(memory)

    def finish(self, mixed, x):
        return self.w_v(mixed)


@MultiHeadAttention.slip(ANY_BATCH)
class tokens_before_the_batch(_Layer):
    """You swapped batch and tokens, as nn.MultiheadAttention wants it without batch_first: here
    the batch comes first, and each sequence attends to itself."""

    def mix(self, query, key, value, mask):
        if query.ndim != 3:
            return super().mix(query, key, value, mask)
        swapped = [part.transpose(0, 1) for part in (query, key, value)]
        return super().mix(*swapped, mask).transpose(0, 1)


@MultiHeadAttention.slip(SUBMODULES)
class w_q_for_all(_Layer):
    """Queries, keys and values are all made by w_q: use w_k for the keys, w_v for the values."""

    def project(self, x, memory):
        return self.w_q(x), self.w_q(memory), self.w_q(memory)


@MultiHeadAttention.slip(SUBMODULES)
class keys_made_by_w_q(_Layer):
    """The keys are made by w_q, like the queries: w_k is never used."""

    def project(self, x, memory):
        return self.w_q(x), self.w_q(memory), self.w_v(memory)


@MultiHeadAttention.slip(SUBMODULES)
class queries_made_by_w_k(_Layer):
    """The queries are made by w_k, like the keys: w_q is never used."""

    def project(self, x, memory):
        return self.w_k(x), self.w_k(memory), self.w_v(memory)


@MultiHeadAttention.slip(SUBMODULES)
class values_made_by_w_q(_Layer):
    """The values are made by w_q, like the queries: w_v is never used."""

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_q(memory)


@MultiHeadAttention.slip(SUBMODULES)
class keys_made_by_w_v(_Layer):
    """The keys are made by w_v, like the values: w_k is never used."""

    def project(self, x, memory):
        return self.w_q(x), self.w_v(memory), self.w_v(memory)


@MultiHeadAttention.slip(SUBMODULES)
class queries_made_by_w_v(_Layer):
    """The queries are made by w_v, like the values: w_q is never used."""

    def project(self, x, memory):
        return self.w_v(x), self.w_k(memory), self.w_v(memory)


@MultiHeadAttention.slip(SUBMODULES)
class w_q_and_w_k_are_one(_Layer):
    """w_q and w_k are one and the same nn.Linear under two names, so loading one overwrites the
    other: make a new nn.Linear for each."""

    def make(self, d_model, bias):
        super().make(d_model, bias)
        self.w_k = self.w_q


@MultiHeadAttention.slip(SUBMODULES)
class w_q_and_w_v_are_one(_Layer):
    """w_q and w_v are one and the same nn.Linear under two names, so loading one overwrites the
    other: make a new nn.Linear for each."""

    def make(self, d_model, bias):
        super().make(d_model, bias)
        self.w_v = self.w_q


@MultiHeadAttention.slip(SUBMODULES)
class w_k_and_w_v_are_one(_Layer):
    """w_k and w_v are one and the same nn.Linear under two names, so loading one overwrites the
    other: make a new nn.Linear for each."""

    def make(self, d_model, bias):
        super().make(d_model, bias)
        self.w_v = self.w_k


@MultiHeadAttention.slip(SUBMODULES)
class one_layer_under_several_names(_Layer):
    """w_q, w_k and w_v are one and the same nn.Linear under three names, so loading one overwrites
    the others: make a new nn.Linear for each."""

    def make(self, d_model, bias):
        self.w_q = self.w_k = self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bool(bias))


@MultiHeadAttention.slip(SUBMODULES)
class one_layer_four_times(_Layer):
    """All four are one and the same nn.Linear, so loading one overwrites the others:
    [nn.Linear(...)] * 4 makes one layer and lists it four times, a comprehension makes four."""

    def make(self, d_model, bias):
        self.w_q = self.w_k = self.w_v = self.w_o = nn.Linear(d_model, d_model, bias=bias)


@MultiHeadAttention.slip(SUBMODULES)
class w_k_for_values(_Layer):
    """The values are made by w_k, like the keys: w_v is never used."""

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_k(memory)


@MultiHeadAttention.slip(ROLES)
class keys_and_values_swapped(_Layer):
    """Keys and values have changed places: w_k makes what is compared with the queries, w_v what
    is mixed."""

    def project(self, x, memory):
        return self.w_q(x), self.w_v(memory), self.w_k(memory)


@MultiHeadAttention.slip(ROLES)
class queries_and_keys_swapped(_Layer):
    """Queries and keys have changed places: w_q is applied to x, w_k to what x looks at."""

    def project(self, x, memory):
        return self.w_k(x), self.w_q(memory), self.w_v(memory)


@MultiHeadAttention.slip(FORMULA)
class not_projected(_Layer):
    """The tokens go into the heads as they are: apply w_q, w_k and w_v first."""

    def project(self, x, memory):
        return x, memory, memory


@MultiHeadAttention.slip(CROSS)
class memory_ignored(_Layer):
    """`memory` is ignored, the tokens look at themselves: keys and values come from memory."""

    def project(self, x, memory):
        return super().project(x, x)


@MultiHeadAttention.slip(CROSS)
class memory_asks(_Layer):
    """The roles are swapped: queries come from x, keys and values from memory."""

    def project(self, x, memory):
        return super().project(memory, x)


@MultiHeadAttention.slip(CROSS)
class queries_from_memory_keys_from_x(_Layer):
    """x and memory have changed places in queries and keys: x makes the queries, memory the
    keys."""

    def project(self, x, memory):
        return self.w_q(memory), self.w_k(x), self.w_v(memory)


@MultiHeadAttention.slip(CROSS)
class all_from_memory(_Layer):
    """With a memory, x is not used at all: the queries still come from x."""

    def project(self, x, memory):
        return super().project(memory, memory)


@MultiHeadAttention.slip(CROSS)
class memory_only_for_keys(_Layer):
    """Only the keys come from memory: the values come from it, too."""

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_v(x)


@MultiHeadAttention.slip(CROSS)
class memory_only_for_values(_Layer):
    """Only the values come from memory: the keys come from it, too."""

    def project(self, x, memory):
        return self.w_q(x), self.w_k(x), self.w_v(memory)


@MultiHeadAttention.slip(CROSS)
class memory_joined_to_x(_Layer):
    """The tokens look at memory and at themselves: with a memory they look at memory alone."""

    def project(self, x, memory):
        seen = memory if memory is x else torch.cat([x, memory], -2)
        return super().project(x, seen)


@MultiHeadAttention.slip(FORMULA)
class n_heads_ignored(_Layer):
    """This is a single attention over all features: n_heads changes nothing."""

    def mix(self, query, key, value, mask):
        return _multi(query, key, value, 1, mask)


@MultiHeadAttention.slip(FORMULA)
class as_many_heads_as_features(_Layer):
    """Each head is one feature wide, so there are d_model heads: there should be n_heads."""

    def mix(self, query, key, value, mask):
        return _multi(query, key, value, self.d_model, mask)


@MultiHeadAttention.slip(HEADS)
class two_heads_written_out(_Layer):
    """There are always two heads, whatever n_heads says: use n_heads instead of the number 2."""

    def mix(self, query, key, value, mask):
        return _multi(query, key, value, 2, mask)


@MultiHeadAttention.slip(HEADS)
class eight_heads_written_out(_Layer):
    """There are always eight heads, whatever n_heads says: use n_heads instead of the number 8."""

    def mix(self, query, key, value, mask):
        return _multi(query, key, value, 8, mask)


@MultiHeadAttention.slip(FORMULA)
class dropout_added(_Layer):
    """Two equal calls give different results: there is dropout, or a layer that is made in
    `forward`. Leave dropout out, and make the layers in __init__."""

    def finish(self, mixed, x):
        return dropout(self.w_o(mixed), 0.1, self.training)


@MultiHeadAttention.slip(ASKED)
class mask_kept(_Layer):
    """The mask of an earlier call is kept in the module, and used where none was given: a call
    without a mask masks nothing."""

    kept = None

    def forward(self, x, memory=None, mask=None):
        self.kept = self.kept if mask is None else mask
        return super().forward(x, memory, self.kept)


@MultiHeadAttention.slip(SCALE)
class scaled_by_the_whole_width(_Layer):
    """You scaled by the square root of d_model: inside a head, vectors are d_head = d_model /
    n_heads wide."""

    def mix(self, query, key, value, mask):
        return scaled_by_d_model(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(SCALE)
class scale_left_out(_Layer):
    """The scale is missing: divide each head's scores by the square root of d_head."""

    def mix(self, query, key, value, mask):
        return scale_missing(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(SCALE)
class scaled_once_more(_Layer):
    """You scaled twice, or by d_head: `multi_head` scales already, by the square root of
    d_head."""

    def mix(self, query, key, value, mask):
        return scaled_twice(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(BLOCKS)
class heads_interleaved(_Layer):
    """Each head got every n_heads-th feature: a head owns a block of neighbouring ones."""

    def mix(self, query, key, value, mask):
        return features_interleaved(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(BLOCKS)
class heads_n_heads_wide(_Layer):
    """Your heads are n_heads wide: n_heads is how many there are, and d_model / n_heads their
    width."""

    def mix(self, query, key, value, mask):
        return n_heads_taken_for_width(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(BY_HAND)
class tokens_cut_in_pieces(_Layer):
    """Your "heads" are tokens cut in pieces: view or reshape went straight to [n_heads, n, d_head],
    and straight back. Call `multi_head`, or split as split_heads does."""

    def mix(self, query, key, value, mask):
        return cut_and_joined_without_transpose(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(BY_HAND)
class tokens_cut_then_merged(_Layer):
    """Your "heads" are tokens cut in pieces: view or reshape went straight to [n_heads, n,
    d_head], with no transpose."""

    def mix(self, query, key, value, mask):
        return cut_but_merged(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(UNFOLD)
class heads_joined_by_reshape(_Layer):
    """The heads are right, but the rows mix several tokens before w_o: swap heads and tokens back
    before the reshape, as merge_heads does."""

    def mix(self, query, key, value, mask):
        return joined_by_reshape(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(ORDER)
class heads_look_at_each_other(_Layer):
    """Within each token, heads attend to heads: the tokens come before the heads, and attention
    works on the last two dimensions. Swap dims -3 and -2 first."""

    def mix(self, query, key, value, mask):
        return _across(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(MASK)
class mask_not_used(_Layer):
    """The mask is ignored: pass it on to `multi_head`."""

    def mix(self, query, key, value, mask):
        return _multi(query, key, value, self.n_heads)


@MultiHeadAttention.slip(MASK)
class mask_not_used_with_memory(_Layer):
    """The mask is ignored when there is a memory: use it there, too."""

    def forward(self, x, memory=None, mask=None):
        return super().forward(x, memory, mask if memory is None else None)


@MultiHeadAttention.slip(ARGUMENTS)
class mask_before_memory(_Layer):
    """In your `forward` the mask comes before the memory: in the stub the memory comes first."""

    def forward(self, x, mask=None, memory=None):
        return super().forward(x, memory, mask)


@MultiHeadAttention.slip(TRUE)
class mask_upside_down(_Layer):
    """The mask is inverted: True means "may attend", and you masked exactly those keys. (PyTorch's
    own module has it the other way round.)"""

    def mix(self, query, key, value, mask):
        return mask_turned_round(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(MASK)
class mask_batch_on_heads(_Layer):
    """The mask's batch landed on the heads: head 1 got the mask of sequence 1. The mask needs a
    dimension of size 1 for the heads, [*batch, 1, q, k]; `multi_head` does that."""

    def mix(self, query, key, value, mask):
        return batch_of_the_mask_on_heads(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(MASK)
class mask_unsqueezed_at_one(_Layer):
    """unsqueeze(1) is right for a mask [batch, q, k] only: in other masks the new dimension falls
    between queries and keys. Pass the mask to `multi_head` as it is, or count from the end:
    unsqueeze(-3)."""

    def mix(self, query, key, value, mask):
        return unsqueezed_at_one(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(MASK)
class mask_of_keys_alone_fails(_Layer):
    """A mask of the keys alone, [k], has too few dimensions for unsqueeze(-3) or [..., None, :, :]:
    it fits every head as it is, and so does any mask that you pass on to `multi_head`."""

    def mix(self, query, key, value, mask):
        return mask_of_keys_fails(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(MASK)
class mask_unsqueezed_twice(_Layer):
    """You gave the mask a dimension for the heads, but `multi_head` does that already: pass the
    mask on as it came."""

    def mix(self, query, key, value, mask):
        more = None if mask is None else mask[..., None, :, :]
        return _multi(query, key, value, self.n_heads, more)


@MultiHeadAttention.slip(BIAS_ROW)
class nan_in_masked_rows(_Layer):
    """A query that may look at nothing gives NaN: torch.softmax divides 0 by 0 there. Its heads
    give zeros, so its row is the bias of w_o."""

    def mix(self, query, key, value, mask):
        return nan_for_a_masked_query(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(BIAS_ROW)
class everything_in_masked_rows(_Layer):
    """Filled with a large negative number: a query that may look at nothing then sees all. Its
    heads give zeros, so its row is the bias of w_o."""

    def mix(self, query, key, value, mask):
        return everything_for_a_masked_query(query, key, value, self.n_heads, mask)


@MultiHeadAttention.slip(BIAS_ROW)
class masked_rows_emptied_at_the_end(_Layer):
    """The row of a query that may look at nothing was set to 0 after w_o: its heads give zeros, so
    its row is the bias of w_o."""

    def forward(self, x, memory=None, mask=None):
        out = super().forward(x, memory, mask)
        if mask is None:
            return out
        looked_at = x if memory is None else memory
        return out * mask.expand(*out.shape[:-1], looked_at.shape[-2]).any(-1, keepdim=True)


@MultiHeadAttention.slip(ASKED)
class always_causal(_Layer):
    """Later tokens are masked although no mask was given: the mask alone decides which keys are
    masked."""

    def mix(self, query, key, value, mask):
        shape = (*query.shape[:-1], key.shape[-2])
        past = torch.ones(shape, dtype=torch.bool, device=query.device).tril()
        return super().mix(query, key, value, past if mask is None else mask & past)


@MultiHeadAttention.slip(STORED)
class weights_not_transposed(_Layer):
    """x @ weight is not what nn.Linear does: it stores the weight transposed. Call the layer,
    self.w_q(x), or transpose."""

    def _apply_raw(self, layer, x):
        return x @ layer.weight + (0 if layer.bias is None else layer.bias)

    def project(self, x, memory):
        return (
            self._apply_raw(self.w_q, x),
            self._apply_raw(self.w_k, memory),
            self._apply_raw(self.w_v, memory),
        )

    def finish(self, mixed, x):
        return self._apply_raw(self.w_o, mixed)


@MultiHeadAttention.slip(BIASES)
class biases_not_added(_Layer):
    """The layers have biases, but they are never added: call the layers, self.w_q(x), instead of
    multiplying by their weights."""

    def project(self, x, memory):
        return (
            linear(x, self.w_q.weight),
            linear(memory, self.w_k.weight),
            linear(memory, self.w_v.weight),
        )

    def finish(self, mixed, x):
        return linear(mixed, self.w_o.weight)


@MultiHeadAttention.slip(BIASES)
class bias_not_handed_on(_Layer):
    """The four layers always have a bias: pass `bias=bias` to each nn.Linear."""

    def make(self, d_model, bias):
        super().make(d_model, True)


@MultiHeadAttention.slip(BIASES)
class bias_never_made(_Layer):
    """The four layers never have a bias: pass `bias=bias` to each nn.Linear."""

    def make(self, d_model, bias):
        super().make(d_model, False)


@MultiHeadAttention.slip(BIASES)
class w_o_always_has_a_bias(_Layer):
    """w_o has a bias although bias=False was asked for: `bias` is for all four layers."""

    def make(self, d_model, bias):
        super().make(d_model, bias)
        self.w_o = nn.Linear(d_model, d_model)


@MultiHeadAttention.slip(BIASES)
class w_o_never_has_a_bias(_Layer):
    """w_o has no bias although bias=True was asked for: `bias` is for all four layers."""

    def make(self, d_model, bias):
        super().make(d_model, bias)
        self.w_o = nn.Linear(d_model, d_model, bias=False)


@MultiHeadAttention.slip(WIDE)
class layers_of_one_head(_Layer):
    """Your projections make the features of one head only: one wide projection, d_model to d_model,
    makes the features of all heads, and split_heads takes them apart."""

    def make(self, d_model, bias):
        for name in ("w_q", "w_k", "w_v", "w_o"):
            width = d_model // self.n_heads
            sizes = (width, d_model) if name == "w_o" else (d_model, width)
            setattr(self, name, nn.Linear(*sizes, bias=bias))


@MultiHeadAttention.slip(UNFOLD)
class w_o_of_one_head(_Layer):
    """w_o takes one head's features, so the heads were added up or averaged before it: put them
    side by side, d_model wide."""

    def make(self, d_model, bias):
        super().make(d_model, bias)
        self.w_o = nn.Linear(d_model // self.n_heads, d_model, bias=bias)


@MultiHeadAttention.slip(FORMULA)
class added_to_x(_Layer):
    """You added x to the output: that is the residual connection around the module, not part of
    it."""

    def finish(self, mixed, x):
        return self.w_o(mixed) + x


@MultiHeadAttention.slip(OUTPUT)
class projected_twice(_Layer):
    """w_o was applied twice: once, on the joined heads, is enough."""

    def finish(self, mixed, x):
        return self.w_o(self.w_o(mixed))


@MultiHeadAttention.slip(SUBMODULES)
class layers_in_a_plain_list(_Layer):
    """PyTorch does not see your layers: in a plain list or dict, or under a name without `self.`,
    they are not submodules. Assign each one to self."""

    def make(self, d_model, bias):
        self.layers = [nn.Linear(d_model, d_model, bias=bias) for _ in range(4)]


@MultiHeadAttention.slip(SUBMODULES)
class super_init_forgotten(_Layer):
    """`super().__init__()` is missing: an nn.Module needs it before the first submodule is
    assigned."""

    def __init__(self, d_model, n_heads, bias=True):
        self.w_q = nn.Linear(d_model, d_model, bias=bool(bias))


@MultiHeadAttention.slip(ANY_BATCH)
class shape_of_x_unpacked(_Layer):
    """`batch, n, d_model = x.shape` works for exactly three dimensions, but there may be none, one
    or several batch dimensions: write `*batch, n, d_model = x.shape`."""

    def project(self, x, memory):
        _batch, _n, _d_model = x.shape
        return super().project(x, memory)


# What `grader show` draws


def _table(sketch):
    """The table of the chapter's text: tokens of four features, for two heads."""
    words = sketch.words or ["token 0", "token 1"]
    return words, torch.arange(1.0, 4 * len(words) + 1).reshape(len(words), 4)


@draws(split_heads)
def draw_split_heads(sketch):
    """A head owns columns, never tokens."""
    words, x = _table(sketch)
    sketch.row("The chapter's table.")
    sketch.draw("tokens", x, words, range(4), scale="plain", digits=0)
    pieces = sketch.call("split_heads", x, 2)
    for head in range(2):
        sketch.draw(f"head {head}", pieces.at(head), words, range(2 * head, 2 * head + 2),
                    scale="plain", digits=0, join="" if head else "->")  # fmt: skip


@draws(merge_heads)
def draw_merge_heads(sketch):
    """The pieces of each token side by side again, head 0 first."""
    words, x = _table(sketch)
    pieces = torch.stack([x[:, :2], x[:, 2:]])
    sketch.row("The chapter's table, split.")
    for head in range(2):
        sketch.draw(f"head {head}", pieces[head], words, range(2 * head, 2 * head + 2),
                    scale="plain", digits=0)  # fmt: skip
    merged = sketch.call("merge_heads", pieces)
    sketch.draw("tokens", merged, words, range(4), scale="plain", digits=0, join="->")


def _maps(attend, keys, n_heads, width):
    """Read the weights of every head off what attends: a value of ones hands over its column.

    Gives [n_heads, q, k].
    """
    columns = []
    for j in range(keys):
        value = torch.zeros(keys, width)
        value[j] = 1
        out = attend(value)
        if not isinstance(out, torch.Tensor):
            return out
        columns.append(out.detach())
    stacked = torch.stack(columns, -1)  # [q, width, k]
    return stacked[:, :: width // n_heads].transpose(0, 1)


@draws(multi_head)
def draw_multi_head(sketch):
    """One map for each head: each spreads its attention by its own features."""
    it = sketch.three()
    n, width = len(it.words), it.value.shape[1]

    def maps(attend, given):
        query, key = given
        mask = it.mask
        return _maps(lambda value: attend(query, key, value.to(query), 2, mask), n, 2, width)

    sketch.row(f"{it.title} Two heads, each of two features.")
    weights = sketch.use("multi_head", maps, it.query, it.key)
    for head in range(2):
        sketch.draw(f"head {head}", weights.at(head), it.words, it.words, scale="weights",
                    made="weights")  # fmt: skip
    sketch.row()
    sketch.draw("values", it.value, it.words, [f"head {i // 2}" for i in range(width)], made="V")
    out = sketch.call("multi_head", it.query, it.key, it.value, 2, it.mask)
    sketch.draw("output", out, it.words, [f"head {i // 2}" for i in range(width)], join="->")


def head_maps(layer, x, n_heads, memory=None, mask=None):
    """Read the maps of a layer's heads, [n_heads, q, k], by handing it values of ones.

    None if the layer never calls its `w_v`.
    """
    layer, handed = copy.deepcopy(layer), []

    def attend(value):
        hooks = [
            layer.w_v.register_forward_hook(lambda *_: handed.append(value) or value),
            layer.w_o.register_forward_hook(lambda _, given, __: given[0]),
        ]
        out = layer(x) if memory is None else layer(x, memory, mask)
        for hook in hooks:
            hook.remove()
        return out

    seen = x if memory is None else memory
    with torch.no_grad():
        maps = _maps(attend, len(seen), n_heads, x.shape[-1])
    return maps if handed else None


def right_maps(attend, layer, x, n_heads, memory=None, mask=None):
    """Work the same maps out of the layer's weights, in float64."""
    seen = x if memory is None else memory
    with torch.no_grad():
        query, key = layer.w_q(x).double(), layer.w_k(seen).double()
        one = lambda value: attend(query, key, value.double(), n_heads, mask)  # noqa: E731
        return _maps(one, len(seen), n_heads, x.shape[-1])


def _draw_layer(sketch, make, n_heads, x, words, seen, printed, memory=None, mask=None):
    """Draw a layer's maps, and what comes out; `make` makes one out of the class."""

    def known():
        right = make(sketch.reference("MultiHeadAttention"))
        return right_maps(sketch.reference("multi_head"), right, x, n_heads, memory, mask)

    want = sketch.known("maps", known)

    def maps(kind, _):
        read = head_maps(make(kind), x, n_heads, memory, mask)
        return want if read is None else read

    def output(kind, _):
        return make(kind)(x) if memory is None else make(kind)(x, memory, mask)

    read = sketch.use("MultiHeadAttention", maps, want=want)
    for head in range(n_heads if read.want.dim() else 0):
        sketch.draw(f"head {head}", read.at(head), words, seen, scale="weights",
                    made="weights", printed=printed.get("weights"))  # fmt: skip
    out = sketch.use("MultiHeadAttention", output)
    sketch.draw("output", out, words, range(x.shape[-1]), join="->", printed=printed.get("result"))


@draws(MultiHeadAttention)
def draw_multi_head_attention(sketch):
    """The module at work: with one head, with two heads, and looking at another sequence."""
    it = sketch.poem()
    weights = {"w_q": it.w_q.T, "w_k": it.w_k.T, "w_v": it.w_v.T, "w_o": torch.eye(2)}

    def of_001(n_heads):
        return lambda kind: _filled(kind(2, n_heads, bias=False), weights)

    sketch.row(f"{it.title} One head:")
    _draw_layer(sketch, of_001(1), 1, it.x, it.words, it.words, it.printed)
    sketch.row("Two heads, one feature each:")
    _draw_layer(sketch, of_001(2), 2, it.x, it.words, it.words, {})

    stream = torch.Generator().manual_seed(6)
    drawn = {f"w_{part}": torch.randn(4, 4, generator=stream) / 2 for part in "qkvo"}
    biases = {name: torch.randn(4, generator=stream) / 2 for name in drawn}
    seen = [*it.words, "(pad)"]
    looking, memory = sketch.embedded(["not", "like"], 4), sketch.embedded(seen, 4)
    mask = torch.tensor([word != "(pad)" for word in seen])[None]
    sketch.row("Two words look at another sequence, whose padding is masked; with biases, random.")
    _draw_layer(sketch, lambda kind: _filled(kind(4, 2), drawn, biases), 2, looking,
                ["not", "like"], seen, {}, memory, mask)  # fmt: skip


def _filled(layer, weights, biases=None):
    with torch.no_grad():
        for layer_name, weight in weights.items():
            getattr(layer, layer_name).weight.copy_(weight)
        for name, bias in (biases or {}).items():
            getattr(layer, name).bias.copy_(bias)
    return layer
