"""The coach of chapter 9."""

from __future__ import annotations

import functools

import torch
from torch import nn

from grader.coach import Task, card
from grader.coach.common import Common
from grader.pictures.drawings import draws
from grader.suite.costs import NAMES as COSTS

TRACK = "beyond"

FORMULA = 'chapter 9, The formula: "head_j = attention(Q_j, K_i, V_i)"'
OWN = 'chapter 9, The formula: "so each has a softmax of its own"'
SERVES = 'chapter 9, The formula: "Each of these serves a group of h / g heads."'
BYTES = 'chapter 9, The formula: "bytes = 2 * layers * g * d_head * words * sequences"'
BOTH = 'chapter 9, The formula: "The 2 is there for keys and values."'
SHRINKS = 'chapter 9, The formula: "What is kept shrinks with g"'
NEIGHBOURS = 'chapter 9, Which heads share: "Papers and libraries mean neighbours"'
NAMES = 'chapter 9, Which heads share: "The names are a trap as well."'
SHAPES = 'chapter 9, Shapes: "query  [*batch, h, q, d_k]"'
COPIES = 'chapter 9, Without a copy: "expand() copies nothing. But reshape() after it does."'
SAME_KEYS = 'chapter 9, Without a copy: "the heads of a group ask the same keys"'
REPEATED = 'the stub of repeat_heads: "head j is the head j // times of `x`"'
ASKED = 'the stub of grouped_attention: "None: everywhere."'
FOR_ALL = 'the stub of grouped_attention: "the same for every head"'
DIVIDE = 'the stub of grouped_attention: "the heads of `key` do not divide those of `query`"'
OF_NUMBER = 'the stub of cache_bytes: "of the numbers that are kept"'
WIDTHS = 'the stub of GroupedQueryAttention: "w_k: makes the keys, d_model to n_kv_heads * d_head."'
LAYERS = 'the stub of GroupedQueryAttention: "The module has four layers and no other weights"'
BLOCKS = 'the stub of GroupedQueryAttention: "owns the i-th block of what w_k and w_v make"'
BIASES = 'the stub of GroupedQueryAttention: "bias: whether the four layers have a bias."'
MEMORY = 'the stub of GroupedQueryAttention: "it makes the keys and the values"'
OUTPUT = 'the stub of GroupedQueryAttention: "w_o: the output projection"'
TRUE = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
BEFORE = 'chapter 4, The formula: "In attention the mask and the scale come before the softmax"'
BLIND = 'chapter 4, Shapes: "A query that may look at nothing gets zeros, not NaN."'
KEYS = (
    'chapter 4, The formula: "The softmax runs over the keys, so each query has a row of '
    'weights of its own."'
)
SCALE = 'chapter 2, The formula: "scaled = Q K^T / sqrt(d_k)"'
HEAD_WIDTH = (
    'chapter 6, The formula: "the square root of the width of one head\'s keys, d_model / n_heads"'
)
BY_HAND = 'chapter 6, By hand: "the right shape, but each "head" is one token cut in two"'
ANY_BATCH = card("batch")


repeat_heads = Task(
    "repeat_heads",
    points=2,
    difficulty=2,
    minutes=5,
    hints=(
        "Head 0 comes `times` times, then head 1 as often: neighbours are alike.",
        "Two functions of torch repeat: one goes through the whole row of heads again and again, "
        "the other repeats each head where it stands. It is the second. The heads are dim -3.",
        "[*batch, g, n, d] becomes [*batch, g * times, n, d] by `repeat_interleave` with dim=-3, "
        "or by a new dimension behind the heads that is expanded and flattened.",
    ),
)


def _heads_fit(x, times):
    if x.dim() < 3 or times < 1:
        raise ValueError(f"do not fit: {tuple(x.shape)} and {times}")


_repeat_slip = repeat_heads.refusing(_heads_fit)


def _tiled(x, times):
    return torch.cat([x] * times, -3)


def _repeated(x, times):
    return x.repeat_interleave(times, -3)


@_repeat_slip(NEIGHBOURS)
def heads_tiled(x, times):
    """Your heads come as 0 1 0 1, as repeat(), tile() and cat() have it: neighbours are alike,
    0 0 1 1. Use repeat_interleave, or expand a dimension behind the heads."""
    return _tiled(x, times)


@_repeat_slip(REPEATED)
def divided_by_the_number_of_heads(x, times):
    """You divided the number of the new head by the number of heads that `x` has: divide it by
    `times`, which is how many new heads have the same one."""
    g = x.shape[-3]
    head = torch.arange(g * times, device=x.device) // max(g, 1)
    return x.index_select(-3, head.clamp(max=max(g - 1, 0)))


@_repeat_slip(REPEATED)
def tokens_repeated(x, times):
    """You repeated the tokens, dim -2: the heads are dim -3."""
    return x.repeat_interleave(times, -2)


@_repeat_slip(REPEATED)
def features_repeated(x, times):
    """You repeated the features, dim -1: the heads are dim -3."""
    return x.repeat_interleave(times, -1)


@_repeat_slip(ANY_BATCH)
def first_dimension_repeated(x, times):
    """You repeated dim 0: that is the heads without a batch only. Count from the end: dim -3."""
    return x.repeat_interleave(times, 0)


@_repeat_slip(ANY_BATCH)
def second_dimension_repeated(x, times):
    """You repeated dim 1: that is the heads for exactly one batch dimension. Count from the end:
    dim -3."""
    return x.repeat_interleave(times, 1)


@_repeat_slip(REPEATED)
def flattened_by_repeating(x, times):
    """Without dim=, repeat_interleave makes one long row of everything: say dim=-3."""
    return x.repeat_interleave(times)


@_repeat_slip(REPEATED)
def heads_not_joined(x, times):
    """Heads and their copies are two dimensions still: flatten them into one, [*batch, g * times,
    n, d]."""
    return _repeated(x.unsqueeze(-3), times)


@_repeat_slip(REPEATED)
def copies_before_heads(x, times):
    """The copies stand before the heads, in a dimension of their own: it belongs behind them, and
    is then flattened, [*batch, g * times, n, d]."""
    return torch.stack([x] * times, -4)


@_repeat_slip(REPEATED)
def one_time_too_many(x, times):
    """There is one of each too many: the head itself counts, so each comes `times` times."""
    return _repeated(x, times + 1)


@_repeat_slip(REPEATED)
def tokens_cut_into_heads(x, times):
    """The right shape, but you repeated the tokens and then cut them anew: heads get tokens of
    half a sequence. Repeat dim -3."""
    *batch, g, n, d = x.shape
    return x.repeat_interleave(times, -2).reshape(*batch, g * times, n, d)


@_repeat_slip(REPEATED)
def heads_as_they_came(x, times):
    """The heads came back as they were: each has to come `times` times."""
    return x * 1 + 0 * times


grouped_attention = Task(
    "grouped_attention",
    points=6,
    difficulty=4,
    minutes=20,
    hints=(
        "Head j uses keys and values j // (h / g). Begin with `repeat_heads` and `attention`: the "
        "numbers are right then, and only the cost is not.",
        "For attention a query is a row, and the rows do not know of each other. So the queries of "
        "a whole group may stand below each other, as one long table before the same keys. "
        "Whatever the mask says of q queries it has to say of each head's q rows. Afterwards cut "
        "the table into heads again.",
        "`unflatten` dim -3 of the queries to (g, h / g), and flatten the dims -3 and -2 of what "
        "comes: [*batch, g, (h / g) * q, d_k]. Keys and values stay as they are. The mask, "
        "expanded to [*batch, q, k], is put h / g times below itself, and gets a dimension of size "
        "1 at -3. Of the output, `unflatten` dim -2 to (h / g, q) and flatten dims -4 and -3.",
    ),
)


def _all_fit(query, key, value, mask=None):
    shapes = f"do not fit: {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
    if query.dim() < 3 or key.shape[:-1] != value.shape[:-1] or key.dim() != query.dim():
        raise ValueError(shapes)
    if query.shape[:-3] != key.shape[:-3] or query.shape[-1] != key.shape[-1]:
        raise ValueError(shapes)
    if mask is not None:
        shape = _shape_of_scores(query, key)
        try:
            mask.expand(shape)
        except RuntimeError as problem:
            raise ValueError(f"do not fit: {tuple(mask.shape)} and {shape}") from problem


def _heads_divide(query, key, value, mask=None):
    _all_fit(query, key, value, mask)
    if query.shape[-3] % key.shape[-3]:
        raise ValueError(f"do not divide: {query.shape[-3]} and {key.shape[-3]}")


_slip = grouped_attention.refusing(_heads_divide)


def _shape_of_scores(query, key):
    return (*query.shape[:-3], query.shape[-2], key.shape[-2])


def _softmax(scores, dim=-1):
    peak = scores.amax(dim, keepdim=True)
    powers = torch.exp(scores - peak.masked_fill(peak == -torch.inf, 0))
    whole = powers.sum(dim, keepdim=True)
    return powers / whole.masked_fill(whole == 0, 1)


def _attend(query, key, value, mask=None, *, scale=None, fill=-torch.inf, softmax=_softmax):
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return softmax(scores) @ value


def _below_itself(mask, times):
    """Make a mask [*batch, q, k] one of the rows of a group, [*batch, 1, times * q, k]."""
    return torch.cat([mask] * times, -2).unsqueeze(-3)


def _grouped(query, key, value, mask=None, *, attend=_attend, place=_below_itself):
    """Attend with the rows of each group below each other."""
    g, times, q = key.shape[-3], query.shape[-3] // key.shape[-3], query.shape[-2]
    if mask is not None:
        mask = place(mask.expand(_shape_of_scores(query, key)), times)
    rows = query.unflatten(-3, (g, times)).flatten(-3, -2)
    return attend(rows, key, value, mask).unflatten(-2, (times, q)).flatten(-4, -3)


def _one_by_one(query, keys, values, mask=None):
    """Attend head by head, with a key and a value for each that somebody picks."""
    heads = enumerate(query.unbind(-3))
    return torch.stack([_attend(head, keys(j), values(j), mask) for j, head in heads], -3)


def _picked(x, which):
    return lambda j: x[..., which(j), :, :]


@_slip(COPIES)
def copied_for_each_head(query, key, value, mask=None):
    """The numbers are right, but keys and values were copied for each head, as repeat_interleave,
    reshape after expand, and a matmul that broadcasts do. Put the queries of a group below each
    other, or go through the heads, and let the keys be as they are."""
    times = query.shape[-3] // key.shape[-3]
    mask = None if mask is None else mask.expand(_shape_of_scores(query, key)).unsqueeze(-3)
    return _attend(query, _repeated(key, times), _repeated(value, times), mask)


@_slip(NEIGHBOURS)
def heads_dealt_out(query, key, value, mask=None):
    """Head j uses keys and values j % g, as repeat() has it: neighbours share, j // (h / g)."""
    g = key.shape[-3]
    return _one_by_one(query, _picked(key, lambda j: j % g), _picked(value, lambda j: j % g), mask)


def _neighbours(query, key):
    times = query.shape[-3] // key.shape[-3]
    return lambda j: j // times


@_slip(NEIGHBOURS)
def heads_unfolded_the_other_way(query, key, value, mask=None):
    """You unfolded the heads as (h / g, g), so that a group is every g-th head, and folded what
    came out as if its heads were neighbours: unfold them as (g, h / g)."""
    g = key.shape[-3]
    dealt = query.unflatten(-3, (query.shape[-3] // g, g)).transpose(-4, -3).flatten(-4, -3)
    return _grouped(dealt, key, value, mask)


@_slip(NEIGHBOURS)
def as_many_to_a_group_as_groups(query, key, value, mask=None):
    """Head j uses keys and values j // g: what it is divided by is how many heads share, h / g, not
    how many groups there are."""
    last = key.shape[-3] - 1

    def which(j):
        return min(j // (last + 1), last)

    return _one_by_one(query, _picked(key, which), _picked(value, which), mask)


@_slip(NEIGHBOURS)
def keys_dealt_out(query, key, value, mask=None):
    """The values are those of the group, but the keys are dealt out, j % g: both are
    j // (h / g)."""
    which, g = _neighbours(query, key), key.shape[-3]
    return _one_by_one(query, _picked(key, lambda j: j % g), _picked(value, which), mask)


@_slip(NEIGHBOURS)
def values_dealt_out(query, key, value, mask=None):
    """The keys are those of the group, but the values are dealt out, j % g: both are
    j // (h / g)."""
    which, g = _neighbours(query, key), key.shape[-3]
    return _one_by_one(query, _picked(key, which), _picked(value, lambda j: j % g), mask)


@_slip(SERVES)
def first_keys_for_all(query, key, value, mask=None):
    """All heads use the first head of keys and values: each of these serves h / g heads only."""
    return _one_by_one(query, _picked(key, lambda _: 0), _picked(value, lambda _: 0), mask)


@_slip(SERVES)
def groups_in_reverse(query, key, value, mask=None):
    """The groups are in reverse: the first h / g heads use the first head of keys."""
    return _grouped(query, key.flip(-3), value.flip(-3), mask)


@_slip(SERVES)
def keys_averaged(query, key, value, mask=None):
    """You took the mean of all keys and of all values over their heads: that is done once, when
    weights of another model are turned into groups. Here each group has its own."""
    key, value = (part.mean(-3, keepdim=True) for part in (key, value))
    return _grouped(query, key, value, mask)


@_slip(FORMULA)
def queries_averaged(query, key, value, mask=None):
    """You took the mean of the queries of a group: its heads still ask different questions, they
    only look through the same keys."""
    g, times = key.shape[-3], query.shape[-3] // key.shape[-3]
    mean = query.unflatten(-3, (g, times)).mean(-3)
    return _repeated(_grouped(mean, key, value, mask), times)


@_slip(FORMULA)
def answers_added_up(query, key, value, mask=None):
    """There is one answer for each group, a mean or a sum of its heads: each of the h heads has an
    answer of its own."""
    out = _grouped(query, key, value, mask)
    return out.unflatten(-3, (key.shape[-3], -1)).mean(-3)


@_slip(FORMULA)
def first_head_of_each_group(query, key, value, mask=None):
    """Only the first head of each group is left: all h heads get an answer."""
    out = _grouped(query, key, value, mask)
    return out[..., :: query.shape[-3] // key.shape[-3], :, :]


@_slip(SHAPES)
def groups_not_joined(query, key, value, mask=None):
    """The heads are right, but groups and their heads are two dimensions still: flatten them into
    one, [*batch, h, q, d_v]."""
    return _grouped(query, key, value, mask).unflatten(-3, (key.shape[-3], -1))


@_slip(SHAPES)
def rows_of_a_group_left(query, key, value, mask=None):
    """The rows of a group are below each other still, [*batch, g, (h / g) * q, d_v]: cut them into
    heads again."""
    return _grouped(query, key, value, mask).unflatten(-3, (key.shape[-3], -1)).flatten(-3, -2)


@_slip(SHAPES)
def rows_cut_the_other_way(query, key, value, mask=None):
    """The heads of a group are mixed up with its queries: you put them below each other head by
    head, (h / g, q), and cut them as (q, h / g)."""
    g, times, q = key.shape[-3], query.shape[-3] // key.shape[-3], query.shape[-2]
    out = _grouped(query, key, value, mask).unflatten(-3, (g, times)).flatten(-3, -2)
    return out.unflatten(-2, (q, times)).transpose(-3, -2).flatten(-4, -3)


@_slip(SHAPES)
def heads_not_put_back(query, key, value, mask=None):
    """The heads of a group are mixed up with its queries: they stood behind the queries while you
    attended, (q, h / g), and were cut as if they stood before them. Put them back first."""
    g, times, q = key.shape[-3], query.shape[-3] // key.shape[-3], query.shape[-2]
    out = _grouped(query, key, value, mask).unflatten(-3, (g, times)).transpose(-3, -2)
    return out.flatten(-3, -2).unflatten(-2, (times, q)).flatten(-4, -3)


@_slip(SHAPES)
def heads_after_the_tokens(query, key, value, mask=None):
    """The heads stand behind the tokens, [*batch, q, h, d_v]: they come before them."""
    return _grouped(query, key, value, mask).transpose(-3, -2)


@_slip(NEIGHBOURS)
def answers_dealt_out(query, key, value, mask=None):
    """The answers are right, but in another order: the first head of every group, then the second
    of every group. The heads of a group stay beside each other."""
    g, times = key.shape[-3], query.shape[-3] // key.shape[-3]
    out = _grouped(query, key, value, mask).unflatten(-3, (g, times))
    return out.transpose(-4, -3).flatten(-4, -3)


@_slip(SHAPES)
def answers_side_by_side(query, key, value, mask=None):
    """The heads are merged already, [*batch, q, h * d_v]: here they stay apart."""
    return _grouped(query, key, value, mask).transpose(-3, -2).flatten(-2)


@_slip(SHAPES)
def groups_cut_from_the_tokens(query, key, value, mask=None):
    """You cut heads and tokens anew with a reshape that begins at the tokens, [q, h] for [h, q]:
    the groups come before the tokens, and each holds neighbouring heads."""
    h, q, d = query.shape[-3:]
    mixed = query.reshape(*query.shape[:-3], q, h, d).transpose(-3, -2)
    return _grouped(mixed, key, value, mask)


@_slip(SERVES)
def keys_of_all_groups(query, key, value, mask=None):
    """Each head looks at the keys of all groups, side by side: it looks at those of its own."""
    every, values = (part.flatten(-3, -2).unsqueeze(-3) for part in (key, value))
    if mask is not None:
        mask = torch.cat([mask.expand(_shape_of_scores(query, key))] * key.shape[-3], -1)
        mask = mask.unsqueeze(-3)
    return _attend(query, every, values, mask)


@_slip(OWN)
def softmax_over_the_group(query, key, value, mask=None):
    """The softmax ran over the rows of a group, dim -2: each row of weights is one query's, over
    the keys, dim -1."""
    attend = functools.partial(_attend, softmax=lambda scores: _softmax(scores, -2))
    return _grouped(query, key, value, mask, attend=attend)


@_slip(OWN)
def one_softmax_for_the_group(query, key, value, mask=None):
    """One softmax ran over all scores of a group together: each query of each head has a row of
    weights that sums to 1."""

    def softmax(scores):
        times = query.shape[-3] // key.shape[-3]
        apart = scores.unflatten(-2, (times, -1)).transpose(-3, -2)
        made = _softmax(apart.flatten(-2)).reshape(apart.shape)
        return made.transpose(-3, -2).flatten(-3, -2)

    return _grouped(query, key, value, mask, attend=functools.partial(_attend, softmax=softmax))


@_slip(SCALE)
def groups_not_scaled(query, key, value, mask=None):
    """The scale is missing: divide the scores by the square root of d_k."""
    return _grouped(query, key, value, mask, attend=functools.partial(_attend, scale=1.0))


@_slip(SCALE)
def groups_scaled_twice(query, key, value, mask=None):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k. Your `attention`
    does that already."""
    attend = functools.partial(_attend, scale=1 / query.shape[-1])
    return _grouped(query, key, value, mask, attend=attend)


@_slip(SCALE)
def scaled_by_the_whole_group(query, key, value, mask=None):
    """You scaled by the width of all heads together: it is the square root of d_k, the width of one
    key."""
    scale = (query.shape[-1] * query.shape[-3]) ** -0.5
    return _grouped(query, key, value, mask, attend=functools.partial(_attend, scale=scale))


@_slip(SCALE)
def scaled_by_the_number_of_queries(query, key, value, mask=None):
    """You scaled by the square root of query.shape[-2], how many queries there are: it is d_k, the
    width of one, shape[-1]."""
    scale = max(1, query.shape[-2]) ** -0.5
    return _grouped(query, key, value, mask, attend=functools.partial(_attend, scale=scale))


@_slip(SCALE)
def scaled_by_the_values(query, key, value, mask=None):
    """You scaled by the square root of d_v, the width of the values: it is d_k, the width of one
    key."""
    attend = functools.partial(_attend, scale=value.shape[-1] ** -0.5)
    return _grouped(query, key, value, mask, attend=attend)


@_slip(ASKED)
def groups_not_masked(query, key, value, mask=None):
    """The mask is ignored: it holds for every head."""
    return _grouped(query, key, value)


@_slip(TRUE)
def groups_masked_inside_out(query, key, value, mask=None):
    """The mask is inverted: True means "may attend", and you masked exactly those keys."""
    return _grouped(query, key, value, None if mask is None else ~mask)


@_slip(SAME_KEYS)
def rows_of_the_mask_repeated(query, key, value, mask=None):
    """The rows of the mask are repeated one by one, 0 0 1 1: the rows of a group are those of its
    first head, then those of the next, so the whole mask is put below itself, 0 1 0 1."""
    return _grouped(
        query, key, value, mask,
        place=lambda mask, times: mask.repeat_interleave(times, -2).unsqueeze(-3),
    )  # fmt: skip


@_slip(FOR_ALL)
def first_head_of_each_group_masked(query, key, value, mask=None):
    """Only the first head of each group is masked: the mask is the same for every head."""

    def place(mask, times):
        rest = torch.ones_like(mask)
        return torch.cat([mask] + [rest] * (times - 1), -2).unsqueeze(-3)

    return _grouped(query, key, value, mask, place=place)


@_slip(FOR_ALL)
def mask_laid_over_the_heads(query, key, value, mask=None):
    """The batch of a mask [batch, q, k] lands on the heads of the keys, and fits only where there
    are as many of these: give the mask a dimension of size 1 for the heads, at -3."""

    def attend(rows, key, value, mask=None):
        shape = *rows.shape[:-1], key.shape[-2]
        return _attend(rows, key, value, None if mask is None else mask.expand(shape))

    return _grouped(
        query, key, value, mask,
        attend=attend, place=lambda mask, times: torch.cat([mask] * times, -2),
    )  # fmt: skip


@_slip(FOR_ALL)
def first_group_masked(query, key, value, mask=None):
    """Only the first group is masked: the mask is the same for every head."""

    def place(mask, times):
        first = _below_itself(mask, times)
        return torch.cat([first] + [torch.ones_like(first)] * (key.shape[-3] - 1), -3)

    return _grouped(query, key, value, mask, place=place)


@_slip(BEFORE)
def groups_masked_after_the_softmax(query, key, value, mask=None):
    """Masked after the softmax: the weights of the masked keys are lost, the rest sum to less than
    1. Mask the scores."""

    def attend(rows, key, value, mask):
        closed = 1 if mask is None else mask
        return _attend(rows, key, value, softmax=lambda scores: _softmax(scores) * closed)

    return _grouped(query, key, value, mask, attend=attend)


@_slip(BLIND)
def nan_where_nothing_is_seen(query, key, value, mask=None):
    """A query that may look at nothing gives NaN: torch.softmax divides 0 by 0 there. Your own
    softmax of chapter 4 gives zeros."""
    attend = functools.partial(_attend, softmax=lambda scores: torch.softmax(scores, -1))
    return _grouped(query, key, value, mask, attend=attend)


@_slip(BLIND)
def everything_where_nothing_is_seen(query, key, value, mask=None):
    """Filled with a large negative number: a query that may look at nothing then sees all. Use
    minus infinity."""
    return _grouped(query, key, value, mask, attend=functools.partial(_attend, fill=-3e4))


@_slip(KEYS)
def keys_in_place_of_values(query, key, value, mask=None):
    """You mixed the keys: the weights are for the values."""
    return _grouped(query, key, key, mask)


@_slip(ANY_BATCH)
def four_dimensions_unpacked(query, key, value, mask=None):
    """`batch, h, q, d_k = query.shape` works for exactly four dimensions, but there may be none,
    one or several before the heads: write `*batch, h, q, d_k = query.shape`."""
    _batch, _h, _q, _d_k = query.shape
    return _grouped(query, key, value, mask)


@grouped_attention.refusing(_all_fit)(DIVIDE)
def remainder_ignored(query, key, value, mask=None):
    """Where g does not divide h, you go on all the same: h // g drops the remainder in silence, and
    heads are lost, or share with the wrong ones. Refuse it, and name both."""
    g = key.shape[-3]
    times = max(1, query.shape[-3] // g)
    return _one_by_one(
        query,
        _picked(key, lambda j: min(j // times, g - 1)),
        _picked(value, lambda j: min(j // times, g - 1)),
        mask,
    )


cache_bytes = Task(
    "cache_bytes",
    points=2,
    difficulty=1,
    minutes=5,
    hints=(
        "Count the numbers that are kept: keys, and values. Then ask how many bytes a number has.",
        "For each layer, each sequence, each word and each head of keys there are d_head numbers, "
        "and as many for the values. How many bytes a number of a dtype has, the dtype knows.",
        "A product of whole numbers: 2, n_layers, n_kv_heads, d_head, n, batch and "
        "`dtype.itemsize`. The 2 counts keys and values.",
    ),
)


def _kept(n_layers, n_kv_heads, d_head, n, batch=1):
    return 2 * n_layers * n_kv_heads * d_head * n * batch


@cache_bytes.slip(BOTH)
def keys_without_values(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """The factor of 2 is missing: a cache holds keys and values."""
    return _kept(n_layers, n_kv_heads, d_head, n, batch) * dtype.itemsize // 2


@cache_bytes.slip(BOTH)
def twice_too_many(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """The factor of 2 came twice: it counts keys and values; the bytes of a number come from the
    dtype."""
    return 2 * _kept(n_layers, n_kv_heads, d_head, n, batch) * dtype.itemsize


@cache_bytes.slip(BYTES)
def bits(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """These are bits: 8 of them make a byte. torch.finfo(dtype).bits counts bits, dtype.itemsize
    bytes."""
    return 8 * _kept(n_layers, n_kv_heads, d_head, n, batch) * dtype.itemsize


@cache_bytes.slip(BYTES)
def whole_pages_counted(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You rounded the number of words up, as a cache of pages of 16 words does: count the words
    that are there."""
    return _kept(n_layers, n_kv_heads, d_head, -(-n // 16) * 16, batch) * dtype.itemsize


@cache_bytes.slip(OF_NUMBER)
def numbers_for_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You counted numbers: multiply by the bytes of one, dtype.itemsize."""
    return _kept(n_layers, n_kv_heads, d_head, n, batch)


@cache_bytes.slip(OF_NUMBER)
def always_two_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You always take 2 bytes for a number, as float16 has: that depends on `dtype`."""
    return 2 * _kept(n_layers, n_kv_heads, d_head, n, batch)


@cache_bytes.slip(OF_NUMBER)
def always_four_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You always take 4 bytes for a number, as float32 has: that depends on `dtype`."""
    return 4 * _kept(n_layers, n_kv_heads, d_head, n, batch)


@cache_bytes.slip(BYTES)
def one_layer_counted(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You counted one layer: each has keys and values of its own."""
    return _kept(1, n_kv_heads, d_head, n, batch) * dtype.itemsize


@cache_bytes.slip(BYTES)
def one_head_counted(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You counted one head of keys and values in each layer: there are n_kv_heads."""
    return _kept(n_layers, 1, d_head, n, batch) * dtype.itemsize


@cache_bytes.slip(BYTES)
def width_not_counted(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You counted one number for each key: it has d_head of them."""
    return _kept(n_layers, n_kv_heads, 1, n, batch) * dtype.itemsize


@cache_bytes.slip(BYTES)
def one_sequence_counted(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You left `batch` out: each sequence has keys and values of its own."""
    return _kept(n_layers, n_kv_heads, d_head, n) * dtype.itemsize


@cache_bytes.slip(BYTES)
def one_word_counted(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """This is what each word adds: multiply by n, how many words there are."""
    return _kept(n_layers, n_kv_heads, d_head, 1, batch) * dtype.itemsize


@cache_bytes.slip(SHRINKS)
def scores_counted(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You counted n * n, as there are scores: they are not kept, keys and values are, n of each."""
    return _kept(n_layers, n_kv_heads, d_head, n * n, batch) * dtype.itemsize


@cache_bytes.slip(BYTES)
def kibibytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """You divided by 1024: bytes are asked for, a whole number."""
    return _kept(n_layers, n_kv_heads, d_head, n, batch) * dtype.itemsize / 1024


@cache_bytes.slip(BYTES)
def bytes_as_a_float(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    """The number is right, but a float: a division makes one. Bytes are whole, return an int."""
    return float(_kept(n_layers, n_kv_heads, d_head, n, batch) * dtype.itemsize)


gqa = Task(
    "GroupedQueryAttention",
    points=5,
    difficulty=3,
    minutes=15,
    hints=(
        "It is chapter 6's module with narrower keys and values, and grouped attention in the "
        "middle.",
        "w_q makes n_heads heads, w_k and w_v make n_kv_heads of the same width. Split the one "
        "by n_heads and the others by n_kv_heads. What comes out has n_heads heads again.",
        "A head is as wide as in chapter 6: d_model shared by n_heads. w_k and w_v are nn.Linear "
        "from d_model to n_kv_heads heads of that width. `split_heads` makes "
        "[*batch, n_heads, q, d_head] and [*batch, n_kv_heads, k, d_head]; then "
        "`grouped_attention` with the mask as it came, `merge_heads`, w_o.",
    ),
)


def _split(x, heads):
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(-3, -2)


def _interleaved(x, heads):
    return x.unflatten(-1, (x.shape[-1] // heads, heads)).movedim(-1, -3)


def _merge(x):
    return x.transpose(-3, -2).flatten(-2)


class _Layer(nn.Module):
    """Right; each slip overrides one step."""

    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads or n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"do not fit: {d_model}, {n_heads} and {n_kv_heads}")
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.make(d_model, n_kv_heads * (d_model // n_heads), bias)

    def make(self, d_model, narrow, bias):
        for name, width in (("w_q", d_model), ("w_k", narrow), ("w_v", narrow), ("w_o", d_model)):
            setattr(self, name, nn.Linear(d_model, width, bias=bias))

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_v(memory)

    def mix(self, query, key, value, mask):
        _heads_divide(query, key, value, mask)
        return _grouped(query, key, value, mask)

    def split(self, query, key, value):
        return _split(query, self.n_heads), *(_split(x, self.n_kv_heads) for x in (key, value))

    def merge(self, mixed):
        return _merge(mixed)

    def finish(self, mixed, x):
        return self.w_o(mixed)

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        if {x.shape[-1], memory.shape[-1]} != {self.d_model} or x.dim() < 2:
            raise ValueError(f"{tuple(x.shape)}, {tuple(memory.shape)}: not {self.d_model} wide")
        parts = self.split(*self.project(x, memory))
        return self.finish(self.merge(self.mix(*parts, mask)), x)


@gqa.slip(WIDTHS)
class keys_as_wide_as_queries(_Layer):
    """w_k and w_v are as wide as w_q, as in chapter 6: they make n_kv_heads heads, so they go from
    d_model to n_kv_heads * d_head."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, d_model, bias)


@gqa.slip(NAMES)
class keys_split_into_all_heads(_Layer):
    """Keys and values are split into n_heads heads, so each is only a part of a head: they have
    n_kv_heads."""

    def split(self, *projected):
        return tuple(_split(x, self.n_heads) for x in projected)

    def mix(self, query, key, value, mask):
        return _attend(query, key, value, None if mask is None else mask.unsqueeze(-3))


@gqa.slip(FOR_ALL)
class module_mask_unsqueezed_twice(_Layer):
    """The mask gets its dimension for the heads twice: `grouped_attention` takes it without one,
    and adds one itself."""

    def mix(self, query, key, value, mask):
        return _grouped(query, key, value, None if mask is None else mask.unsqueeze(-3))


@gqa.slip(WIDTHS)
class one_head_of_keys(_Layer):
    """w_k and w_v make one head only: they make n_kv_heads, n_kv_heads * d_head features."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, narrow // self.n_kv_heads, bias)


@gqa.slip(NAMES)
class size_of_a_group_for_their_number(_Layer):
    """w_k and w_v make n_heads / n_kv_heads heads: that is how many heads share, not how many heads
    of keys there are, n_kv_heads."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, d_model // self.n_kv_heads, bias)


@gqa.slip(WIDTHS)
class wider_heads_of_keys(_Layer):
    """w_k and w_v make n_kv_heads features: each head of keys is d_head wide, so there are
    n_kv_heads * d_head."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, self.n_kv_heads, bias)


@gqa.slip(NEIGHBOURS)
class module_deals_heads_out(_Layer):
    """Head j uses keys and values j % n_kv_heads: neighbours share. Call `grouped_attention`."""

    def mix(self, query, key, value, mask):
        _heads_divide(query, key, value, mask)
        return heads_dealt_out(query, key, value, mask)


@gqa.slip(SERVES)
class module_uses_the_first_keys(_Layer):
    """All heads use the first head of keys and values: each of these serves n_heads / n_kv_heads
    heads only."""

    def mix(self, query, key, value, mask):
        _heads_divide(query, key, value, mask)
        return first_keys_for_all(query, key, value, mask)


@gqa.slip(BY_HAND)
class module_cuts_tokens(_Layer):
    """Your "heads" are tokens cut in pieces: view or reshape went straight to [heads, n, d_head],
    with no transpose. Use split_heads."""

    def split(self, query, key, value):
        def cut(x, heads):
            return x.reshape(*x.shape[:-2], heads, x.shape[-2], x.shape[-1] // heads)

        return cut(query, self.n_heads), cut(key, self.n_kv_heads), cut(value, self.n_kv_heads)


@gqa.slip(BLOCKS)
class module_interleaves_features(_Layer):
    """Each head of keys and values got every n_kv_heads-th feature: a head owns a block of
    neighbouring ones. Use split_heads."""

    def split(self, query, key, value):
        narrow = (_interleaved(x, self.n_kv_heads) for x in (key, value))
        return _split(query, self.n_heads), *narrow


@gqa.slip(BLOCKS)
class module_interleaves_the_keys(_Layer):
    """The values are right, but each head of keys got every n_kv_heads-th feature: a head owns a
    block of neighbouring ones. Use split_heads for both."""

    def split(self, query, key, value):
        query, _, value = super().split(query, key, value)
        return query, _interleaved(key, self.n_kv_heads), value


@gqa.slip(BY_HAND)
class module_joins_by_reshape(_Layer):
    """The heads are right, but the rows mix several tokens before w_o: swap heads and tokens back
    before the reshape, as merge_heads does."""

    def merge(self, mixed):
        *batch, h, q, d = mixed.shape
        return mixed.reshape(*batch, q, h * d)


@gqa.slip(HEAD_WIDTH)
class module_scales_by_d_model(_Layer):
    """You scaled by the square root of d_model: inside a head, vectors are d_head = d_model /
    n_heads wide."""

    def mix(self, query, key, value, mask):
        _heads_divide(query, key, value, mask)
        return scaled_by_the_whole_group(query, key, value, mask)


@gqa.slip(HEAD_WIDTH)
class module_scales_by_the_keys(_Layer):
    """You scaled by the width of all keys, n_kv_heads * d_head: inside a head, they are d_head
    wide."""

    def mix(self, query, key, value, mask):
        _heads_divide(query, key, value, mask)
        scale = (query.shape[-1] * self.n_kv_heads) ** -0.5
        return _grouped(query, key, value, mask, attend=functools.partial(_attend, scale=scale))


@gqa.slip(ASKED)
class module_causal_without_a_mask(_Layer):
    """Where there is no mask and no memory you put a causal one: without a mask every query may
    attend everywhere, and whoever wants it causal hands such a mask in."""

    def forward(self, x, memory=None, mask=None):
        if memory is None and mask is None and x.dim() > 1:
            n = x.shape[-2]
            mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        return super().forward(x, memory, mask)


@gqa.slip(HEAD_WIDTH)
class module_scales_twice(_Layer):
    """You scaled twice: `grouped_attention` divides the scores by the square root of d_head, and
    the queries or the keys were divided by it before."""

    def mix(self, query, key, value, mask):
        return super().mix(query * query.shape[-1] ** -0.5, key, value, mask)


@gqa.slip(ASKED)
class module_ignores_the_mask(_Layer):
    """The mask is ignored: hand it on to `grouped_attention`."""

    def mix(self, query, key, value, mask):
        super().mix(query, key, value, mask)
        return super().mix(query, key, value, None)


@gqa.slip(TRUE)
class module_masks_inside_out(_Layer):
    """The mask is inverted: True means "may attend", and you masked exactly those keys."""

    def mix(self, query, key, value, mask):
        return super().mix(query, key, value, None if mask is None else ~mask)


@gqa.slip(BLIND)
class module_gives_nan(_Layer):
    """A query that may look at nothing gives NaN: torch.softmax divides 0 by 0 there. Its heads
    give zeros, so its row is the bias of w_o."""

    def mix(self, query, key, value, mask):
        _heads_divide(query, key, value, mask)
        return nan_where_nothing_is_seen(query, key, value, mask)


@gqa.slip(BLIND)
class module_zeros_after_w_o(_Layer):
    """You set the row of a query that may look at nothing to zeros after w_o: its heads give zeros,
    so w_o makes its bias of them."""

    def forward(self, x, memory=None, mask=None):
        out = super().forward(x, memory, mask)
        return out if mask is None else out.masked_fill(~mask.any(-1, keepdim=True), 0)


@gqa.slip(BIASES)
class module_without_a_bias_in_w_o(_Layer):
    """w_o never has a bias, as in Qwen: with `bias` all four layers have one."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, narrow, bias)
        self.w_o = nn.Linear(d_model, d_model, bias=False)


@gqa.slip(MEMORY)
class module_ignores_memory(_Layer):
    """`memory` is ignored, the tokens look at themselves: keys and values come from memory."""

    def project(self, x, memory):
        if x.shape != memory.shape:
            memory = torch.cat([x] * (memory.shape[-2] // x.shape[-2] + 1), -2)[
                ..., : memory.shape[-2], :
            ]
        return super().project(x, memory)


@gqa.slip(MEMORY)
class module_takes_values_from_x(_Layer):
    """The queries come from x, and so do your values, or the memory was left out of one of the two:
    keys and values both come from memory."""

    def forward(self, x, memory=None, mask=None):
        if memory is not None and memory.shape[-2] != x.shape[-2]:
            raise ValueError(f"{x.shape[-2]} values for {memory.shape[-2]} keys")
        return super().forward(x, memory, mask)

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_v(x)


@gqa.slip(OUTPUT)
class module_without_w_o(_Layer):
    """The joined heads are returned as they are: the output projection w_o was never applied."""

    def finish(self, mixed, x):
        return mixed


@gqa.slip(OUTPUT)
class module_applies_w_o_twice(_Layer):
    """w_o was applied twice: once, on the joined heads, is enough."""

    def finish(self, mixed, x):
        return self.w_o(self.w_o(mixed))


@gqa.slip(OUTPUT)
class module_adds_x(_Layer):
    """You added x to the output: that is the residual connection around the module, not part of
    it."""

    def finish(self, mixed, x):
        return self.w_o(mixed) + x


@gqa.slip(LAYERS)
class module_makes_values_by_w_k(_Layer):
    """The values are made by w_k, like the keys: w_v is never used."""

    def project(self, x, memory):
        return self.w_q(x), self.w_k(memory), self.w_k(memory)


@gqa.slip(LAYERS)
class module_makes_keys_by_w_v(_Layer):
    """The keys are made by w_v, like the values: w_k is never used."""

    def project(self, x, memory):
        return self.w_q(x), self.w_v(memory), self.w_v(memory)


@gqa.slip(LAYERS)
class module_swaps_keys_and_values(_Layer):
    """Keys and values have changed places: w_k makes what is compared with the queries, w_v what
    is mixed."""

    def project(self, x, memory):
        return self.w_q(x), self.w_v(memory), self.w_k(memory)


@gqa.slip(LAYERS)
class keys_and_values_of_one_layer(_Layer):
    """w_k and w_v are one and the same nn.Linear under two names, so loading one overwrites the
    other: make a new nn.Linear for each."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, narrow, bias)
        self.w_v = self.w_k


@gqa.slip(LAYERS)
class keys_and_values_in_one(_Layer):
    """Keys and values come from one wide layer: here w_k and w_v are two."""

    def make(self, d_model, narrow, bias):
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_kv = nn.Linear(d_model, 2 * narrow, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)


@gqa.slip(BIASES)
class module_always_has_biases(_Layer):
    """The four layers always have a bias: it is False if nothing else is said. Pass `bias=bias` to
    each nn.Linear."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, narrow, True)


@gqa.slip(BIASES)
class w_o_always_has_a_bias(_Layer):
    """w_o has a bias though none was asked for: pass `bias=bias` to it, too."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, narrow, bias)
        self.w_o = nn.Linear(d_model, d_model)


@gqa.slip(BIASES)
class module_never_has_biases(_Layer):
    """The four layers never have a bias: pass `bias=bias` to each nn.Linear."""

    def make(self, d_model, narrow, bias):
        super().make(d_model, narrow, False)


# What the chapter's own differences show

FINDINGS = (
    Common(
        "grows_with_the_heads",
        lambda found: found.kind == "cost" and found.label == COSTS["largest"],
        "The numbers are right, but this tensor has a copy of the keys or of the values for each "
        "head, or for each head of a group. repeat_interleave makes one, and so do reshape after "
        "expand, and a matmul that broadcasts: put the queries of a group below each other, or go "
        "through the heads one by one.",
        COPIES,
    ),
)


# What `grader show` draws


def _head_names(h):
    return [f"head {j}" for j in range(h)]


@draws(repeat_heads)
def draw_repeat_heads(sketch):
    """Neighbours are alike: two heads of keys, each for three heads of queries."""
    sketch.row("Each head of keys holds its own number.")
    words = sketch.words or ["token 0", "token 1", "token 2"]
    x = torch.stack([torch.full((len(words), 1), float(i)) for i in range(2)])
    sketch.draw("heads of keys", x[..., 0], ["keys 0", "keys 1"], words, scale="plain", digits=0)
    repeated = sketch.use("repeat_heads", lambda f, given: _flat(f(*given)), x, 3)
    sketch.draw("repeated", repeated, _head_names(6), words, scale="plain", digits=0, join="->")


def _flat(out):
    return out[..., 0] if isinstance(out, torch.Tensor) and out.dim() == 3 else out


@draws(grouped_attention)
def draw_grouped_attention(sketch):
    """Which heads look through which keys; then a map for each: they share keys, not weights."""
    sketch.row("6 heads of queries, 2 heads of keys. Each head of values holds its own number.")
    value = torch.eye(2)[:, None].expand(2, 3, 2).contiguous()
    uses = sketch.use(
        "grouped_attention", lambda f, given: _first_row(f(*given)),
        torch.zeros(6, 1, 4), torch.zeros(2, 3, 4), value,
    )  # fmt: skip
    sketch.draw("uses", uses, _head_names(6), ["keys 0", "keys 1"], scale="weights")
    words = sketch.words or ["I", "do", "not", "like", "it"]
    key = sketch.embedded(words, 4)
    query = torch.stack([sketch.embedded([f"{word} {j}" for word in words], 4) for j in range(3)])
    sketch.row("The maps of one group: three heads, one head of keys.")
    one_hot = torch.eye(len(words))
    maps = sketch.call("grouped_attention", 1.5 * query, 1.5 * key[None], one_hot[None])
    for j in range(3):
        sketch.draw(f"head {j}", maps.at(j), words, words, scale="weights")


def _first_row(out):
    return out[:, 0] if isinstance(out, torch.Tensor) and out.dim() == 3 else out


@draws(cache_bytes)
def draw_cache_bytes(sketch):
    """What is kept, in GiB: it grows with the words, and shrinks with the heads of keys."""
    groups, lengths = [64, 8, 1], [1024, 4096, 16384, 131072]
    sketch.row("80 layers, 64 heads of queries, each 128 wide, float16, one text.")

    def table(count, _):
        rows = [[count(80, g, 128, n) / 2**30 for n in lengths] for g in groups]
        return torch.tensor(rows)

    made = sketch.use("cache_bytes", table)
    rows = [f"{g} of keys" for g in groups]
    sketch.draw("GiB", made, rows, [f"{n} words" for n in lengths], scale="plain", digits=2)


@draws(gqa)
def draw_grouped_query_attention(sketch):
    """Which heads use which values: w_v writes the number of its head into each word."""
    words = sketch.words or ["I", "do", "not"]
    x = torch.ones(len(words), 12)
    for n_kv_heads in (6, 2, 1):
        narrow = 2 * n_kv_heads
        numbers = torch.arange(n_kv_heads).repeat_interleave(2).float()
        weights = {
            "w_q": torch.zeros(12, 12), "w_k": torch.zeros(narrow, 12),
            "w_v": numbers[:, None] / 12 * torch.ones(1, 12), "w_o": torch.eye(12),
        }  # fmt: skip

        def output(kind, _, n_kv_heads=n_kv_heads, weights=weights):
            layer = kind(12, 6, n_kv_heads)
            with torch.no_grad():
                for name, weight in weights.items():
                    getattr(layer, name).weight.copy_(weight)
            return layer(x)

        sketch.row(f"6 heads of queries, each 2 wide; n_kv_heads = {n_kv_heads}.")
        made = sketch.use("GroupedQueryAttention", output)
        features = [f"h{j // 2}" for j in range(12)]
        sketch.draw("output", made, words, features, scale="plain", digits=0)
