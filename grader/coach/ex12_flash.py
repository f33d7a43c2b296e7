"""The coach of chapter 12."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.coach import Task, card
from grader.coach.common import Common
from grader.costs import Counting
from grader.pictures.drawings import draws
from grader.suite.costs import NAMES as COSTS

TRACK = "beyond"

PARTS = 'chapter 12, The formula: "Of each part of the keys keep two things for a query"'
SCORE = 'chapter 12, The formula: "A score is Q K^T / sqrt(d_k), as ever."'
MERGED = 'chapter 12, The formula: "Two parts a and b over other keys make one"'
UNDONE = 'chapter 12, The formula: "What a part divided by is in its log_sum"'
ANY_ORDER = 'chapter 12, The formula: "in whatever order parts are merged, the same comes out"'
NEVER_EXP = 'chapter 12, The formula: "Never take exp of a log_sum itself"'
A_PLACE = 'chapter 12, The formula: "that difference is nan, so it needs a place of its own"'
TILES = 'chapter 12, Shapes: "A tile is a block of queries against a block of keys."'
SHORT = 'chapter 12, Shapes: "The last blocks are short. They may be"'
FILLED = 'chapter 12, Shapes: "a row of zeros that is filled in is a key with a score of 0"'
KEEPS = 'chapter 12, The way back: "autograd keeps what every step made for the way back"'
RIGHT_AT_ONCE = 'chapter 12, The way back: "the weights of a tile, right at once"'
WHERE_D = 'chapter 12, The way back: "Where does D come from?"'
SUMMED = 'chapter 12, The way back: "summed over the blocks of queries"'
OF_KEYS = 'chapter 12, The way back: "dQ = dS K / sqrt(d_k)"'
ONE_EACH = 'chapter 12, The way back: "one gradient for each argument of forward"'
DIVIDE = 'chapter 12, What papers and libraries disagree on: "When to divide."'
NATURAL = (
    'chapter 12, What papers and libraries disagree on: "Here it is the natural logarithm, of '
    'scaled scores."'
)
DTYPE = (
    'chapter 12, What papers and libraries disagree on: "Here it has the dtype of the inputs, as '
    'any output"'
)
CORNER = 'chapter 12, What papers and libraries disagree on: "Which corner."'
BY_HAND = 'chapter 12, By hand: "Two keys at a time"'
TWO = 'the stub of partial_attention: "for each query the logarithm of the sum of exp"'
NOTHING = 'the stub of partial_attention: "A query that may attend to nothing"'
ONE_CLOSED = 'the stub of merge_partials: "Where one part is closed, it is the other part."'
BOTH_CLOSED = 'the stub of merge_partials: "Where both are, it is zeros and minus infinity"'
ALIKE = 'the stub of merge_partials: "`out_a` and `out_b` differ in shape"'
ONE_EACH_QUERY = 'the stub of merge_partials: "`log_sum_a` or `log_sum_b` is not [*batch, q]"'
GROWS = 'the stub of flash_attention: "The largest tensor grows as the number of positions does"'
NO_MASK = 'the stub of flash_attention: "no scores, no weights and no mask"'
SKIPPED = 'the stub of flash_attention: "blocks that are wholly in the future are not worked out"'
SEES = 'the stub of flash_attention: "a query sees only its own position and those before it"'
LAST = 'the stub of flash_attention: "The queries are the last q of k positions"'
NEED_NOT = 'the stub of flash_attention: "It need not divide q or k"'
BELOW_1 = 'the stub of flash_attention: "`block` is below 1"'
MORE = 'the stub of flash_attention: "there are more queries than keys"'
BOOLEAN = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
MINUS_INFINITY = (
    'chapter 4, The formula: "In attention the mask and the scale come before the softmax"'
)
KEYS = (
    'chapter 4, The formula: "The softmax runs over the keys, so each query has a row of '
    'weights of its own."'
)
ANY_BATCH, DEVICE = card("batch"), card("device")

partial_attention = Task(
    "partial_attention",
    points=3,
    difficulty=2,
    minutes=10,
    hints=(
        "The output is that of `attention`. What it divided by, the sum of a row of powers, is "
        "lost there: here it is given back, too, as a logarithm.",
        "Work out the scaled scores, and put minus infinity where the mask is False. The softmax "
        "over the keys mixes the values; the logarithm of the sum of exp is taken of the same "
        "scores. Where a row has nothing but minus infinity, the weights are zeros.",
        "torch's `logsumexp` over the keys makes [*batch, q] of [*batch, q, k]: it takes the "
        "largest score away first, and gives minus infinity where all is closed. Make the scores "
        "minus infinity by `apply_mask` or `masked_fill`, which let nothing go back there. Chapter "
        "4's `softmax` gives the zeros.",
    ),
)


def _fit(query, key, value, mask=None):
    shapes = f"do not fit: {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
    if min(query.dim(), key.dim(), value.dim()) < 2 or query.shape[-1] != key.shape[-1]:
        raise ValueError(shapes)
    if key.shape[:-1] != value.shape[:-1] or query.shape[:-2] != key.shape[:-2]:
        raise ValueError(shapes)
    if mask is not None:
        try:
            mask.expand(*query.shape[:-1], key.shape[-2])
        except RuntimeError as problem:
            raise ValueError(f"{shapes}, {tuple(mask.shape)}") from problem


_part_slip = partial_attention.refusing(_fit)


def _softmax(scores, dim=-1):
    peak = scores.amax(dim, keepdim=True)
    powers = torch.exp(scores - peak.masked_fill(peak == -torch.inf, 0))
    whole = powers.sum(dim, keepdim=True)
    return powers / whole.masked_fill(whole == 0, 1)


def _scores(query, key, mask=None, *, power=0.5, fill=-torch.inf):
    scores = query @ key.mT * query.shape[-1] ** -power
    return scores if mask is None else scores.masked_fill(~mask, fill)


def _part(query, key, value, mask=None, **how):
    scores = _scores(query, key, mask, **how)
    return _softmax(scores) @ value, scores.logsumexp(-1)


@_part_slip(NEVER_EXP)
def largest_score_not_taken_away(query, key, value, mask=None):
    """The logarithm is taken of the sum of exp as it stands: exp(100) is infinity in float32 and
    exp(-1e4) is 0. Take the largest score away first and add it afterwards, as logsumexp does."""
    scores = _scores(query, key, mask)
    return _softmax(scores) @ value, scores.exp().sum(-1).log()


@_part_slip(TWO)
def largest_score_not_added(query, key, value, mask=None):
    """Your log_sum lacks the largest score: what was taken away before exp is added after the
    logarithm."""
    out, log_sum = _part(query, key, value, mask)
    top = _scores(query, key, mask).amax(-1)
    return out, log_sum - top.masked_fill(top == -torch.inf, 0)


@_part_slip(TWO)
def sum_without_logarithm(query, key, value, mask=None):
    """This is the sum of exp, not its logarithm: it overflows where scores are large."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum.exp()


@_part_slip(TWO)
def largest_score_alone(query, key, value, mask=None):
    """You gave back the largest score of each row: the logarithm of the sum of all powers is asked
    for."""
    out, _ = _part(query, key, value, mask)
    return out, _scores(query, key, mask).amax(-1)


@_part_slip(NATURAL)
def logarithm_to_the_base_2(query, key, value, mask=None):
    """Your log_sum is to the base 2, as in Triton's tutorial: here it is the natural logarithm."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum / math.log(2)


@_part_slip(TWO)
def mean_for_the_sum(query, key, value, mask=None):
    """Your log_sum is that of the mean of the powers: take their sum, or parts of different sizes
    weigh the same."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum - math.log(key.shape[-2])


@_part_slip(NATURAL)
def log_sum_not_scaled(query, key, value, mask=None):
    """The output is right, but your log_sum is that of the scores before the scale: both are made
    of the scaled ones."""
    out, _ = _part(query, key, value, mask)
    return out, _scores(query, key, mask, power=0).logsumexp(-1)


@_part_slip(SCORE)
def part_not_scaled(query, key, value, mask=None):
    """The scale is missing: divide the scores by the square root of d_k, before anything else."""
    return _part(query, key, value, mask, power=0)


@_part_slip(SCORE)
def part_scaled_twice(query, key, value, mask=None):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k."""
    return _part(query, key, value, mask, power=1)


@_part_slip(SCORE)
def part_scaled_by_the_values(query, key, value, mask=None):
    """You scaled by the square root of d_v, the width of the values: it is d_k."""
    return _part(query * (query.shape[-1] / value.shape[-1]) ** 0.5, key, value, mask)


@_part_slip(NOTHING)
def log_sum_of_all_keys(query, key, value, mask=None):
    """Your log_sum knows nothing of the mask: closed keys have a score of minus infinity there,
    too."""
    return _part(query, key, value, mask)[0], _part(query, key, value)[1]


@_part_slip(NOTHING)
def mask_left_out(query, key, value, mask=None):
    """The mask is not used: closed keys have a score of minus infinity."""
    return _part(query, key, value)


@_part_slip(BOOLEAN)
def mask_inside_out(query, key, value, mask=None):
    """The mask is inverted: True means "may attend", and you closed exactly those keys."""
    return _part(query, key, value, None if mask is None else ~mask)


@_part_slip(MINUS_INFINITY)
def masked_after_the_softmax(query, key, value, mask=None):
    """The mask comes after the softmax, so the open keys do not share the whole weight among them:
    it comes before, as minus infinity."""
    weights = _softmax(_scores(query, key))
    weights = weights if mask is None else weights * mask
    return weights @ value, _scores(query, key, mask).logsumexp(-1)


@_part_slip(NOTHING)
def closed_rows_are_nan(query, key, value, mask=None):
    """Where a query may attend to nothing, your output is nan: torch's softmax divides 0 by 0
    there. It is a row of zeros, and minus infinity."""
    scores = _scores(query, key, mask)
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


@_part_slip(NOTHING)
def closed_log_sum_is_nan(query, key, value, mask=None):
    """Where a query may attend to nothing, your log_sum is nan: the largest score is minus infinity
    there, and minus infinity from itself is nan. It is minus infinity."""
    scores = _scores(query, key, mask)
    peak = scores.amax(-1, keepdim=True)
    return _softmax(scores) @ value, (scores - peak).exp().sum(-1).log() + peak[..., 0]


@_part_slip(NOTHING)
def closed_rows_get_the_mean(query, key, value, mask=None):
    """Where a query may attend to nothing, it gets the mean of all values, and a log_sum that is no
    minus infinity: a large negative number in the place of minus infinity leaves all keys alike."""
    return _part(query, key, value, mask, fill=torch.finfo(query.dtype).min / 2)


@_part_slip(NOTHING)
def closed_log_sum_of_0(query, key, value, mask=None):
    """Where a query may attend to nothing, your log_sum is 0, which is the logarithm of 1: that of
    an empty sum is minus infinity."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum.masked_fill(log_sum == -torch.inf, 0)


@_part_slip(NOTHING)
def lowest_number_for_minus_infinity(query, key, value, mask=None):
    """Where a query may attend to nothing, your log_sum is the lowest finite number, as nan_to_num
    makes it: it is minus infinity."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum.nan_to_num()


@_part_slip(NOTHING)
def tiny_number_in_the_logarithm(query, key, value, mask=None):
    """A tiny number in the logarithm makes about -87 of a query that may attend to nothing: it is
    minus infinity."""
    out, log_sum = _part(query, key, value, mask)
    least = math.log(torch.finfo(torch.float32).tiny)
    return out, log_sum.masked_fill(log_sum == -torch.inf, least)


@_part_slip(NOTHING)
def small_number_in_the_logarithm(query, key, value, mask=None):
    """A small number such as 1e-9 in the logarithm makes about -20.7 of a query that may attend to
    nothing: it is minus infinity."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum.masked_fill(log_sum == -torch.inf, math.log(1e-9))


@_part_slip(MINUS_INFINITY)
def scores_of_0_for_the_closed(query, key, value, mask=None):
    """Closed keys have a score of 0, and so they count: fill with minus infinity."""
    return _part(query, key, value, mask, fill=0.0)


@_part_slip(DIVIDE)
def part_not_divided(query, key, value, mask=None):
    """Your output is a sum that nobody has divided yet, as FlashAttention-2 keeps it: here a part
    is attention already, with weights that sum to 1."""
    scores = _scores(query, key, mask)
    top = scores.amax(-1, keepdim=True)
    powers = torch.exp(scores - top.masked_fill(top == -torch.inf, 0))
    return powers @ value, scores.logsumexp(-1)


@_part_slip(TWO)
def log_sum_for_each_key(query, key, value, mask=None):
    """Your log_sum is taken over the queries, dim -2, so there is one for each key: there is one
    for each query, over its keys, dim -1."""
    return _part(query, key, value, mask)[0], _scores(query, key, mask).logsumexp(-2)


@_part_slip(TWO)
def log_sum_of_the_weights(query, key, value, mask=None):
    """You took the logarithm of the sum of the weights: they sum to 1, and its logarithm is 0. Take
    it of the sum of exp of the scores, which the weights are divided by."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum.masked_fill(log_sum.isfinite(), 0)


@_part_slip(TWO)
def log_sum_as_a_column(query, key, value, mask=None):
    """Your log_sum is [*batch, q, 1]: it is [*batch, q], one number for each query."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum[..., None]


@_part_slip(TWO)
def log_sum_first(query, key, value, mask=None):
    """The two results are swapped: first the output, then log_sum."""
    return _part(query, key, value, mask)[::-1]


@_part_slip(DTYPE)
def log_sum_in_float32(query, key, value, mask=None):
    """Your log_sum is in float32 whatever goes in, as in libraries: here it has the dtype of the
    inputs."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum.float()


@_part_slip(KEYS)
def part_over_the_queries(query, key, value, mask=None):
    """The softmax ran over the queries, dim -2: each query has a row of weights of its own, over
    the keys, dim -1."""
    scores = _scores(query, key, mask)
    return _softmax(scores, -2) @ value, scores.logsumexp(-1)


@_part_slip(PARTS)
def keys_of_a_part_mixed(query, key, value, mask=None):
    """You mixed the keys: the weights are for the values."""
    out, log_sum = _part(query, key, key, mask)
    return out[..., : value.shape[-1]], log_sum


@_part_slip(PARTS)
def log_sum_cut_off(query, key, value, mask=None):
    """No gradients come through your log_sum: it was detached. What is merged by it depends on all
    scores."""
    out, log_sum = _part(query, key, value, mask)
    return out, log_sum.detach()


merge_partials = Task(
    "merge_partials",
    points=4,
    difficulty=3,
    minutes=15,
    hints=(
        "A part that weighs more counts for more: its share is exp(log_sum of the part - log_sum "
        "of both). The two shares sum to 1.",
        "The shares are the softmax of the two log_sums, one pair for each query, and the new "
        "log_sum is their logsumexp: neither takes exp of a large number. Only where both are "
        "minus infinity something is missing: torch's logsumexp gives nan on the way back there. "
        "Put a number in their place first, and minus infinity into what comes out.",
        "`torch.stack` of both log_sums is [2, *batch, q]; `masked_fill` with what says where both "
        "are closed, [*batch, q], makes numbers of them. `logsumexp` over dimension 0 gives "
        "[*batch, q], and a softmax over the same dimension the two shares. With `[..., None]` a "
        "share is [*batch, q, 1], which goes with [*batch, q, d_v].",
    ),
)


def _alike(out_a, log_sum_a, out_b, log_sum_b):
    shapes = [tuple(one.shape) for one in (out_a, log_sum_a, out_b, log_sum_b)]
    if len(shapes[0]) < 2 or shapes[0] != shapes[2]:
        raise ValueError(f"parts do not fit: {shapes}")
    if not shapes[1] == shapes[3] == shapes[0][:-1]:
        raise ValueError(f"log_sum does not fit: {shapes}")


_merge_slip = merge_partials.refusing(_alike)


def _whole(log_sum_a, log_sum_b):
    log_sum = torch.stack((log_sum_a, log_sum_b)).logsumexp(0)
    return log_sum, log_sum.masked_fill(log_sum == -torch.inf, 0)


def _merge(out_a, log_sum_a, out_b, log_sum_b):
    log_sum, whole = _whole(log_sum_a, log_sum_b)
    shares = (torch.exp(one - whole)[..., None] for one in (log_sum_a, log_sum_b))
    return next(shares) * out_a + next(shares) * out_b, log_sum


@_merge_slip(UNDONE)
def parts_averaged(out_a, log_sum_a, out_b, log_sum_b):
    """Both parts count the same, whatever they weigh: the share of each is exp of its log_sum less
    that of both."""
    return (out_a + out_b) / 2, _whole(log_sum_a, log_sum_b)[0]


@_merge_slip(UNDONE)
def parts_added(out_a, log_sum_a, out_b, log_sum_b):
    """The parts are added up as they are: each is divided by its own sum already. Multiply each by
    its share."""
    return out_a + out_b, _whole(log_sum_a, log_sum_b)[0]


@_merge_slip(MERGED)
def second_part_not_weighed(out_a, log_sum_a, out_b, log_sum_b):
    """Only what came first is multiplied by its share, and the second part is added as it is: both
    have one."""
    log_sum, whole = _whole(log_sum_a, log_sum_b)
    return torch.exp(log_sum_a - whole)[..., None] * out_a + out_b, log_sum


@_merge_slip(MERGED)
def first_part_not_weighed(out_a, log_sum_a, out_b, log_sum_b):
    """What came first is not made smaller, and only the second part has its share: the old output
    has to be multiplied by exp(log_sum_a - log_sum), too."""
    log_sum, whole = _whole(log_sum_a, log_sum_b)
    return out_a + torch.exp(log_sum_b - whole)[..., None] * out_b, log_sum


@_merge_slip(MERGED)
def shares_of_the_larger(out_a, log_sum_a, out_b, log_sum_b):
    """Your two shares do not sum to 1: exp(log_sum_a - the larger log_sum) and exp(log_sum_b - the
    larger log_sum) have to be divided by their sum. Or take the log_sum of both away instead."""
    top = torch.maximum(log_sum_a, log_sum_b)
    safe = top.masked_fill(top == -torch.inf, 0)
    a, b = torch.exp(log_sum_a - safe), torch.exp(log_sum_b - safe)
    return a[..., None] * out_a + b[..., None] * out_b, _whole(log_sum_a, log_sum_b)[0]


@_merge_slip(MERGED)
def shares_swapped(out_a, log_sum_a, out_b, log_sum_b):
    """The two shares are swapped: each part is multiplied by that of its own log_sum."""
    return _merge(out_a, log_sum_b, out_b, log_sum_a)


@_merge_slip(MERGED)
def shares_over_the_queries(out_a, log_sum_a, out_b, log_sum_b):
    """The softmax of the log_sums runs over the queries: the shares of the two parts of one query
    add up to 1, so stack the two and take it over the parts."""
    share_a, share_b = (_softmax(one)[..., None] for one in (log_sum_a, log_sum_b))
    return share_a * out_a + share_b * out_b, _whole(log_sum_a, log_sum_b)[0]


@_merge_slip(NEVER_EXP)
def exp_of_the_log_sums(out_a, log_sum_a, out_b, log_sum_b):
    """You take exp of a log_sum: near 1e4 that is infinity, and near -1e4 it is 0. Take the larger
    one of the two away first."""
    a, b = log_sum_a.exp(), log_sum_b.exp()
    whole = a + b
    safe = whole.masked_fill(whole == 0, 1)
    return (a / safe)[..., None] * out_a + (b / safe)[..., None] * out_b, whole.log()


@_merge_slip(NEVER_EXP)
def largest_from_0(out_a, log_sum_a, out_b, log_sum_b):
    """Your largest value begins at 0, so where both log_sums are far below, all powers are 0: begin
    at minus infinity, or take the larger one of the two."""
    top = torch.maximum(log_sum_a, log_sum_b).clamp_min(0)
    a, b = torch.exp(log_sum_a - top), torch.exp(log_sum_b - top)
    whole = a + b
    safe = whole.masked_fill(whole == 0, 1)
    return (a / safe)[..., None] * out_a + (b / safe)[..., None] * out_b, whole.log() + top


@_merge_slip(ONE_CLOSED)
def one_closed_taken_for_both(out_a, log_sum_a, out_b, log_sum_b):
    """Where one part is closed, you make zeros of both and throw the other part away: only where
    both are closed it is zeros."""
    out, log_sum = _merge(out_a, log_sum_a, out_b, log_sum_b)
    closed = (log_sum_a == -torch.inf) | (log_sum_b == -torch.inf)
    return out.masked_fill(closed[..., None], 0), log_sum.masked_fill(closed, -torch.inf)


@_merge_slip(MERGED)
def larger_log_sum_alone(out_a, log_sum_a, out_b, log_sum_b):
    """The output is right, but your new log_sum is the larger one of the two: the logarithm of both
    sums together is asked for."""
    return _merge(out_a, log_sum_a, out_b, log_sum_b)[0], torch.maximum(log_sum_a, log_sum_b)


@_merge_slip(MERGED)
def logarithms_added(out_a, log_sum_a, out_b, log_sum_b):
    """You added the logarithms, which multiplies the sums: it is the logarithm of their sum."""
    return _merge(out_a, log_sum_a, out_b, log_sum_b)[0], log_sum_a + log_sum_b


@_merge_slip(MERGED)
def log_sum_without_the_larger(out_a, log_sum_a, out_b, log_sum_b):
    """Your new log_sum lacks the larger one of the two, that was taken away before exp: add it
    after the logarithm."""
    out, log_sum = _merge(out_a, log_sum_a, out_b, log_sum_b)
    top = torch.maximum(log_sum_a, log_sum_b)
    return out, log_sum - top.masked_fill(top == -torch.inf, 0)


@_merge_slip(NATURAL)
def merged_to_the_base_2(out_a, log_sum_a, out_b, log_sum_b):
    """You merged as if log_sum were to the base 2: it is the natural logarithm."""
    log_sum = torch.logaddexp2(log_sum_a, log_sum_b)
    whole = log_sum.masked_fill(log_sum == -torch.inf, 0)
    a, b = (torch.exp2(one - whole)[..., None] for one in (log_sum_a, log_sum_b))
    return a * out_a + b * out_b, log_sum


@_merge_slip(MERGED)
def weighed_by_the_logarithms(out_a, log_sum_a, out_b, log_sum_b):
    """The parts are weighed by their log_sums: weigh by exp of them, less that of both."""
    log_sum = _whole(log_sum_a, log_sum_b)[0]
    both = log_sum_a + log_sum_b
    return (log_sum_a / both)[..., None] * out_a + (log_sum_b / both)[..., None] * out_b, log_sum


@_merge_slip(A_PLACE)
def nan_of_two_closed_parts(out_a, log_sum_a, out_b, log_sum_b):
    """Where both parts are closed, you take minus infinity from minus infinity, which is nan: put a
    number in the place of the new log_sum there, before you take the differences."""
    log_sum = torch.logaddexp(log_sum_a, log_sum_b)
    a, b = (torch.exp(one - log_sum)[..., None] for one in (log_sum_a, log_sum_b))
    return a * out_a + b * out_b, log_sum


@_merge_slip(A_PLACE)
def closed_asked_of_all_rows(out_a, log_sum_a, out_b, log_sum_b):
    """You ask whether all rows of the parts are closed, and each row has to be asked by itself:
    where one is closed in both, you take minus infinity from minus infinity, which is nan."""
    if (torch.maximum(log_sum_a, log_sum_b) == -torch.inf).all():
        return _merge(out_a, log_sum_a, out_b, log_sum_b)
    return nan_of_two_closed_parts(out_a, log_sum_a, out_b, log_sum_b)


@_merge_slip(A_PLACE)
def put_right_at_the_end(out_a, log_sum_a, out_b, log_sum_b):
    """Forward it is right, but rows where both parts are closed become nan first and are put right
    at the end, by `where` or nan_to_num: the way back goes through the nan. Put a number in their
    place before you take differences."""
    top = torch.maximum(log_sum_a, log_sum_b).detach()
    a, b = (torch.exp(one - top) for one in (log_sum_a, log_sum_b))
    out = (a[..., None] * out_a + b[..., None] * out_b) / (a + b)[..., None]
    closed = top == -torch.inf
    log_sum = top + torch.log(a + b)
    return (
        torch.where(closed[..., None], torch.zeros_like(out), out),
        torch.where(closed, torch.full_like(log_sum, -torch.inf), log_sum),
    )


@_merge_slip(ONE_CLOSED)
def ten_thousand_for_infinity(out_a, log_sum_a, out_b, log_sum_b):
    """You put -1e4 in the place of minus infinity, and there are log_sums below that: a closed part
    then weighs more than the other one."""
    closed = torch.maximum(log_sum_a, log_sum_b) == -torch.inf
    a, b = (one.masked_fill(one == -torch.inf, -1e4) for one in (log_sum_a, log_sum_b))
    log_sum = torch.logaddexp(a, b)
    out = (a - log_sum).exp()[..., None] * out_a + (b - log_sum).exp()[..., None] * out_b
    return out.masked_fill(closed[..., None], 0), log_sum.masked_fill(closed, -torch.inf)


def _merged_less(base, out_a, log_sum_a, out_b, log_sum_b):
    """Merge by the powers of what is left when this is taken away."""
    a, b = torch.exp(log_sum_a - base), torch.exp(log_sum_b - base)
    closed = a + b == 0
    whole = (a + b).masked_fill(closed, 1)
    out = (a[..., None] * out_a + b[..., None] * out_b) / whole[..., None]
    return out, (base + whole.log()).masked_fill(closed, -torch.inf)


@_merge_slip(NEVER_EXP)
def second_log_sum_taken_away(out_a, log_sum_a, out_b, log_sum_b):
    """You take the log_sum of the second part away before exp, whichever is larger: where the first
    one is far larger, exp of the rest is infinity. Take the larger one of the two away."""
    base = torch.where(log_sum_b == -torch.inf, log_sum_a, log_sum_b).detach()
    base = base.masked_fill(base == -torch.inf, 0)
    return _merged_less(base, out_a, log_sum_a, out_b, log_sum_b)


@_merge_slip(NEVER_EXP)
def largest_of_all_queries(out_a, log_sum_a, out_b, log_sum_b):
    """You took the largest log_sum of all queries away from each: where a query's own are far below
    it, exp of the rest is 0. Each query has a larger one of its own two."""
    both = torch.stack((log_sum_a, log_sum_b))
    top = both.detach().max() if both.numel() else both.new_zeros(())
    base = top.masked_fill(top.isinf(), 0)
    return _merged_less(base, out_a, log_sum_a, out_b, log_sum_b)


@_merge_slip(NEVER_EXP)
def divided_by_0_far_below(out_a, log_sum_a, out_b, log_sum_b):
    """You took the largest log_sum of all queries away from each: where a query's own are far below
    it, exp of both is 0, and 0 is divided by 0. Each query has a larger one of its own two."""
    both = torch.stack((log_sum_a, log_sum_b))
    closed = (both == -torch.inf).all(0)
    top = both.detach().max() if both.numel() else both.new_zeros(())
    top = top.masked_fill(top.isinf(), 0)
    a, b = torch.exp(both - top)
    whole = (a + b).masked_fill(closed, 1)
    out = (a / whole)[..., None] * out_a + (b / whole)[..., None] * out_b
    return out, (top + whole.log()).masked_fill(closed, -torch.inf)


@_merge_slip(ONE_CLOSED)
def whole_part_for_one_closed_query(out_a, log_sum_a, out_b, log_sum_b):
    """If one query of a part is closed, you hand the whole other part back: only for that query it
    is the other part."""
    if (log_sum_a == -torch.inf).any():
        return out_b, log_sum_b
    if (log_sum_b == -torch.inf).any():
        return out_a, log_sum_a
    return _merge(out_a, log_sum_a, out_b, log_sum_b)


@_merge_slip(ONE_CLOSED)
def first_part_for_one_closed_query(out_a, log_sum_a, out_b, log_sum_b):
    """If one query of the second part is closed, you hand the whole first part back: only for that
    query it is the first part."""
    return whole_part_for_one_closed_query(out_b, log_sum_b, out_a, log_sum_a)


@_merge_slip(ONE_CLOSED)
def nan_of_one_closed_part(out_a, log_sum_a, out_b, log_sum_b):
    """Where one part is closed, your output is nan: 0 times infinity, from exp of the difference of
    the two log_sums. Take the new log_sum away from each, or the larger one."""
    ratio = torch.exp(log_sum_a - log_sum_b)[..., None]
    log_sum = _whole(log_sum_a, log_sum_b)[0]
    return (ratio * out_a + out_b) / (ratio + 1), log_sum


@_merge_slip(BOTH_CLOSED)
def closed_parts_weigh_1(out_a, log_sum_a, out_b, log_sum_b):
    """Where both parts are closed, your new log_sum is no minus infinity: nothing is open, and the
    logarithm of an empty sum is minus infinity. A later merge would count it."""
    out, log_sum = _merge(out_a, log_sum_a, out_b, log_sum_b)
    return out, log_sum.masked_fill(log_sum == -torch.inf, 0)


@_merge_slip(A_PLACE)
def nan_on_the_way_back(out_a, log_sum_a, out_b, log_sum_b):
    """The numbers are right, but where both parts are closed the gradients are nan: torch.logaddexp
    and logsumexp make one there on the way back, and nan_to_num and where repair only what comes
    out. Put a number into both log_sums there first, and minus infinity into the result."""
    log_sum = torch.logaddexp(log_sum_a, log_sum_b)
    a, b = (torch.exp(one - log_sum).nan_to_num(0.0)[..., None] for one in (log_sum_a, log_sum_b))
    return a * out_a + b * out_b, log_sum


@_merge_slip(MERGED)
def log_sum_merged_as_a_column(out_a, log_sum_a, out_b, log_sum_b):
    """Your new log_sum is [*batch, q, 1]: it is [*batch, q], as those that came in."""
    out, log_sum = _merge(out_a, log_sum_a, out_b, log_sum_b)
    return out, log_sum[..., None]


@_merge_slip(MERGED)
def shares_cut_off(out_a, log_sum_a, out_b, log_sum_b):
    """No gradients come through the shares: they were detached. Both log_sums want theirs."""
    out, _ = _merge(out_a, log_sum_a.detach(), out_b, log_sum_b.detach())
    return out, _whole(log_sum_a, log_sum_b)[0]


@merge_partials.slip(ALIKE)
def parts_repeated_to_fit(out_a, log_sum_a, out_b, log_sum_b):
    """One row, or a width of 1, serves for several, as torch repeats it in silence: compare the
    shapes of both parts, and refuse them."""
    try:
        shape = torch.broadcast_shapes(out_a.shape, out_b.shape)
        parts = [out_a.expand(shape), log_sum_a.expand(shape[:-1]), out_b.expand(shape),
                 log_sum_b.expand(shape[:-1])]  # fmt: skip
    except RuntimeError as problem:
        raise ValueError(f"{tuple(out_a.shape)} and {tuple(out_b.shape)}") from problem
    _alike(*parts)
    return _merge(*parts)


@merge_partials.slip(ONE_EACH_QUERY)
def log_sums_repeated_to_fit(out_a, log_sum_a, out_b, log_sum_b):
    """One log_sum serves for several queries, as torch repeats it in silence: there is one for each
    query. Compare its shape with that of the part."""
    if log_sum_a.dim() < out_a.dim() and log_sum_b.dim() < out_b.dim():
        try:
            log_sum_a = log_sum_a.expand(out_a.shape[:-1])
            log_sum_b = log_sum_b.expand(out_b.shape[:-1])
        except RuntimeError as problem:
            raise ValueError(f"{tuple(log_sum_a.shape)}, {tuple(out_a.shape)}") from problem
    _alike(out_a, log_sum_a, out_b, log_sum_b)
    return _merge(out_a, log_sum_a, out_b, log_sum_b)


flash_attention = Task(
    "flash_attention",
    points=8,
    difficulty=5,
    minutes=60,
    hints=(
        "Cut the queries into blocks and the keys into blocks. One block of queries goes through "
        "the blocks of keys with `partial_attention`, and `merge_partials` adds each part to what "
        "there is. That is forward. It has to happen where autograd does not look, or every tile "
        "is kept: so write a torch.autograd.Function, and its way back by hand.",
        "In forward keep query, key, value, out and log_sum. In backward work out D first, from "
        "what comes in and out. Then go through the same tiles once more: scores again, weights "
        "by exp(scores - log_sum), and with these what is added to the gradients of this block of "
        "queries, and of this block of keys and values. With `causal`, a block of queries stops "
        "at the last key that its last query sees, and a mask is made for a single tile.",
        "Slices `x[..., i : i + block, :]` may be short at the end. The block of queries that ends "
        "before row e sees k - q + e keys. `torch.ones(rows, columns, dtype=torch.bool)"
        ".tril(k - q + i - j)` is the mask of the tile at query i and key j. On the way back, of "
        "a tile with P and G = dO V^T, both [block, block]: dS = P * (G - D[..., None]), then add "
        "dS K * scale to dQ, dS^T Q * scale to dK, P^T dO to dV. Return a gradient for each "
        "argument of forward: None for `causal` and `block`.",
    ),
)


def _flash_fits(query, key, value, causal=False, block=64):
    _fit(query, key, value)
    if block < 1 or (causal and query.shape[-2] > key.shape[-2]):
        raise ValueError(f"{query.shape[-2]} queries, {key.shape[-2]} keys, blocks of {block}")


class _Tiles:
    """Right, forward and back; each slip overrides one step."""

    def __init__(self, causal, block):
        self.causal, self.block = causal, block

    def scale(self, query, value):
        return query.shape[-1] ** -0.5

    def position(self, q, k):
        """Return where the first query stands."""
        return k - q

    def end(self, q, k, bottom):
        """Return how many keys a block of queries goes through that ends there."""
        return self.position(q, k) + bottom if self.causal else k

    def end_back(self, q, k, bottom):
        return self.end(q, k, bottom)

    def rows(self, q):
        return range(0, q, self.block)

    def columns(self, end):
        return range(0, max(1, end), self.block)

    def tiles(self, q, k, end):
        for top in self.rows(q):
            last = min(top + self.block, q)
            here = end(q, k, last)
            for left in self.columns(here):
                yield slice(top, last), slice(left, max(1, min(left + self.block, here)))

    def mask(self, q, k, rows, columns, device):
        query = torch.arange(rows.start, rows.stop, device=device) + self.position(q, k)
        return torch.arange(columns.start, columns.stop, device=device) <= query[:, None]

    def scores(self, query, key, value, rows, columns):
        q, k = query.shape[-2], key.shape[-2]
        scores = query[..., rows, :] @ key[..., columns, :].mT * self.scale(query, value)
        if self.causal:
            scores = scores.masked_fill(~self.mask(q, k, rows, columns, query.device), -torch.inf)
        return scores

    def part(self, scores, value):
        return _softmax(scores) @ value, scores.logsumexp(-1)

    def merge(self, old, new):
        return _merge(*old, *new)

    def done(self, out):
        return out

    def forward(self, query, key, value):
        found = {}
        for rows, columns in self.tiles(query.shape[-2], key.shape[-2], self.end):
            scores = self.scores(query, key, value, rows, columns)
            part = self.part(scores, value[..., columns, :])
            old = found.get(rows.start)
            found[rows.start] = part if old is None else self.merge(old, part)
        outs, log_sums = zip(*found.values(), strict=True)
        return self.done(torch.cat(outs, -2)), torch.cat(log_sums, -1)

    def weights(self, scores, log_sum):
        return torch.exp(scores - log_sum[..., None])

    def mean(self, grad, out, weights, to_weights):
        return (grad * out).sum(-1, keepdim=True)

    def to_scores(self, weights, to_weights, mean, scale):
        return weights * (to_weights - mean) * scale

    def adds(self, whole, place, more):
        whole[..., place, :] += more

    def to_queries(self, whole, rows, more):
        whole[..., rows, :] += more

    def to_keys(self, whole, rows, columns, to_scores, query):
        self.adds(whole, columns, to_scores.mT @ query[..., rows, :])

    def to_values(self, whole, columns, more):
        self.adds(whole, columns, more)

    def backward(self, query, key, value, out, log_sum, grad):
        made = [torch.zeros_like(x) for x in (query, key, value)]
        for rows, columns in self.tiles(query.shape[-2], key.shape[-2], self.end_back):
            scores = self.scores(query, key, value, rows, columns)
            weights, g = self.weights(scores, log_sum[..., rows]), grad[..., rows, :]
            to_weights = g @ value[..., columns, :].mT
            mean = self.mean(g, out[..., rows, :], weights, to_weights)
            to_scores = self.to_scores(weights, to_weights, mean, self.scale(query, value))
            self.to_queries(made[0], rows, to_scores @ key[..., columns, :])
            self.to_keys(made[1], rows, columns, to_scores, query)
            self.to_values(made[2], columns, weights.mT @ g)
        return made


class _Undivided(_Tiles):
    """Right, as FlashAttention-2 goes: with the largest score so far, and a sum to divide by."""

    begins = -torch.inf

    def old_sum(self, total, share):
        return total * share

    def old_out(self, out, share):
        return out * share

    def kept(self, top, total):
        return top + total.log()

    def forward(self, query, key, value):
        found = {}
        for rows, columns in self.tiles(query.shape[-2], key.shape[-2], self.end):
            scores = self.scores(query, key, value, rows, columns)
            empty = scores.new_zeros(scores.shape[:-1])
            first = empty + self.begins, empty, empty[..., None] * value[..., :1, :]
            top, total, out = found.get(rows.start, first)
            new = torch.maximum(top, scores.amax(-1))
            safe = new.masked_fill(new == -torch.inf, 0)
            powers, share = torch.exp(scores - safe[..., None]), torch.exp(top - safe)
            total = self.old_sum(total, share) + powers.sum(-1)
            out = self.old_out(out, share[..., None]) + powers @ value[..., columns, :]
            found[rows.start] = new, total, out
        outs = [out / total[..., None] for _, total, out in found.values()]
        log_sums = [self.kept(top, total) for top, total, _ in found.values()]
        return torch.cat(outs, -2), torch.cat(log_sums, -1)


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, tiles):
        wide = torch.promote_types(query.dtype, torch.float32)
        out, log_sum = tiles.forward(*(x.to(wide) for x in (query, key, value)))
        out = out.to(query.dtype)
        ctx.save_for_backward(query, key, value, out, log_sum)
        ctx.tiles = tiles
        return out

    @staticmethod
    def backward(ctx, grad):
        *given, log_sum = ctx.saved_tensors
        wide = (x.to(log_sum.dtype) for x in given)
        made = ctx.tiles.backward(*wide, log_sum, grad.to(log_sum.dtype))
        return *(one.to(grad.dtype) for one in made), None


def _flash(kind):
    """Make an answer of tiles."""

    @functools.wraps(kind, updated=())
    def answer(query, key, value, causal, block):
        return _Run.apply(query, key, value, kind(causal, block))

    return answer


def _slip(read):
    """Declare a slip of `flash_attention`: tiles of which one step is wrong, or a function."""

    def declare(wrong):
        made = _flash(wrong) if isinstance(wrong, type) else wrong
        flash_attention.refusing(_flash_fits)(read)(made)
        return wrong

    return declare


def _sees(query, key):
    q, k = query.shape[-2], key.shape[-2]
    return torch.ones(q, k, dtype=torch.bool, device=query.device).tril(k - q)


@_slip(GROWS)
def all_scores_at_once(query, key, value, causal, block):
    """The numbers are right, but all scores are made at once, q x k of them, and kept for the way
    back: this is the attention of chapter 5. Work them out a tile at a time."""
    return _part(query, key, value, _sees(query, key) if causal else None)[0]


@_slip(NO_MASK)
class mask_of_all_pairs(_Tiles):
    """The scores are made tile by tile, but the causal mask is made of all pairs first, q x k
    numbers: make a mask for the tile that needs one."""

    def mask(self, q, k, rows, columns, device):
        whole = torch.ones(q, k, dtype=torch.bool, device=device).tril(k - q)
        return whole[rows, columns]


@_slip(SKIPPED)
class future_worked_out(_Tiles):
    """The numbers are right, but tiles that lie wholly in the future are worked out, and then
    masked: a block of queries stops at the last key that its last query sees."""

    def end(self, q, k, bottom):
        return k


@_slip(SKIPPED)
class stopped_by_the_first_query(_Tiles):
    """A block of queries stops at the last key that its first query sees, so its other queries lose
    keys: it goes on to the last key that its last query sees."""

    def end(self, q, k, bottom):
        first = (bottom - 1) // self.block * self.block
        seen = super().end(q, k, first + 1)
        return min(k, -(-seen // self.block) * self.block)


@_slip(CORNER)
class tiles_left_out_from_the_top_left(_Tiles):
    """Which tiles are left out is decided as if query 0 stood at key 0: the queries are the last
    positions, so query i stands at k - q + i, there as in the mask."""

    def end(self, q, k, bottom):
        seen = bottom if self.causal else k
        return min(k, -(-seen // self.block) * self.block)


@_slip(SKIPPED)
class future_worked_out_on_the_way_back(_Tiles):
    """Forward the future is left out, but on the way back all tiles are worked out: go through the
    same tiles there."""

    def end_back(self, q, k, bottom):
        return k


@_slip(CORNER)
class tiles_left_out_on_the_way_back(_Tiles):
    """Forward it is right. On the way back, which tiles are left out is decided as if query 0 stood
    at key 0, so keys get too little: query i stands at k - q + i, there as well."""

    end_back = tiles_left_out_from_the_top_left.end


@_slip(MERGED)
class old_output_not_rescaled(_Tiles):
    """The output so far is not made smaller when a block with larger scores comes: multiply it by
    exp(log_sum_old - log_sum_new), or by exp(m_old - m_new) if you keep the largest score."""

    def merge(self, old, new):
        log_sum = _merge(*old, *new)[1]
        return old[0] + torch.exp(new[1] - log_sum)[..., None] * new[0], log_sum


@_slip(NEVER_EXP)
class largest_score_begins_at_0(_Tiles):
    """Your largest score so far begins at 0, so where all scores are far below it, all powers are
    0: begin at minus infinity."""

    def part(self, scores, value):
        top = scores.amax(-1, keepdim=True).clamp_min(0)
        powers = torch.exp(scores - top)
        whole = powers.sum(-1, keepdim=True)
        out = powers @ value / whole.masked_fill(whole == 0, 1)
        return out, (whole.log() + top)[..., 0]


@_slip(MERGED)
class old_sum_not_made_smaller(_Undivided):
    """The sum so far is not made smaller when a larger score comes: it was made with another
    largest score, so multiply it by exp(old largest - new largest), as the output."""

    def old_sum(self, total, share):
        return total


@_slip(MERGED)
class undivided_output_not_made_smaller(_Undivided):
    """The output so far is not made smaller when a larger score comes: multiply it by exp(old
    largest - new largest), as the sum."""

    def old_out(self, out, share):
        return out


@_slip(MERGED)
class nothing_made_smaller(_Undivided):
    """When a larger score comes, neither the sum so far nor the output so far is made smaller: both
    were made with another largest score, so multiply them by exp(old largest - new largest)."""

    old_sum = old_sum_not_made_smaller.old_sum
    old_out = undivided_output_not_made_smaller.old_out


@_slip(NEVER_EXP)
class largest_so_far_begins_at_0(_Undivided):
    """Your largest score so far begins at 0, so where all scores are far below it the sum is 0, and
    0 is divided by 0: begin at minus infinity."""

    begins = 0.0


@_slip(RIGHT_AT_ONCE)
class log_sum_without_the_largest(_Undivided):
    """Forward it is right, but the log_sum that is kept lacks the largest score, so the weights of
    the way back are too large: add it to the logarithm of the sum."""

    def kept(self, top, total):
        return total.log()


@_slip(RIGHT_AT_ONCE)
class largest_score_kept_alone(_Undivided):
    """Forward it is right, but what is kept for the way back is the largest score alone, so the
    weights there are not divided by their sum: add the logarithm of the sum to it."""

    def kept(self, top, total):
        return top


@_slip(DIVIDE)
class parts_added_up(_Tiles):
    """Each block is divided by its own sum, and then the blocks are added up: a part that is
    divided has to be multiplied by its share, exp(its log_sum - that of all)."""

    def merge(self, old, new):
        return old[0] + new[0], _merge(*old, *new)[1]


@_slip(UNDONE)
class blocks_averaged(_Tiles):
    """You took the mean of the old output and of each new block: a block counts as much as it
    weighs, which log_sum says."""

    def merge(self, old, new):
        return (old[0] + new[0]) / 2, _merge(*old, *new)[1]


@_slip(UNDONE)
class all_blocks_count_the_same(_Tiles):
    """You took the mean of what the blocks of keys give: a block counts as much as it weighs, which
    its log_sum says."""

    def forward(self, query, key, value):
        outs = {}
        for rows, columns in self.tiles(query.shape[-2], key.shape[-2], self.end):
            scores = self.scores(query, key, value, rows, columns)
            outs.setdefault(rows.start, []).append(self.part(scores, value[..., columns, :])[0])
        means = [torch.stack(found).mean(0) for found in outs.values()]
        return torch.cat(means, -2), super().forward(query, key, value)[1]


@_slip(MERGED)
class last_block_alone(_Tiles):
    """Only the last block of keys is left: each one has to be merged with what came before it."""

    def merge(self, old, new):
        return new


@_slip(MERGED)
class log_sum_not_merged(_Tiles):
    """The log_sum of what came before stays as it was after a merge: both outputs are one now, and
    so are both sums."""

    def merge(self, old, new):
        return _merge(*old, *new)[0], old[1]


@_slip(CORNER)
class aligned_at_the_top_left(_Tiles):
    """Your causal mask is aligned at the top left, as is_causal=True of PyTorch: the queries are
    the last positions, so query i stands at k - q + i."""

    def position(self, q, k):
        return 0


@_slip(SEES)
class causal_ignored(_Tiles):
    """`causal` is not used: with it a query sees only its own position and those before it."""

    def __init__(self, causal, block):
        super().__init__(False, block)


@_slip(SEES)
class always_causal(_Tiles):
    """It is causal also where nobody asked for it: the default of `causal` is False."""

    def __init__(self, causal, block):
        super().__init__(True, block)

    def position(self, q, k):
        return max(0, k - q)


@_slip(TILES)
class tile_without_a_mask(_Tiles):
    """Tiles wholly in the future are left out, but in a tile that is partly in the future all is
    open: that one needs a mask."""

    def mask(self, q, k, rows, columns, device):
        return torch.ones((), dtype=torch.bool, device=device)


@_slip(TILES)
class same_mask_for_each_tile(_Tiles):
    """The mask of a tile is made as if its first query and its first key stood at the same place:
    it depends on where the tile is."""

    def mask(self, q, k, rows, columns, device):
        size = rows.stop - rows.start, columns.stop - columns.start
        if columns.stop - 1 <= self.position(q, k) + rows.start:
            return torch.ones(size, dtype=torch.bool, device=device)
        return torch.ones(size, dtype=torch.bool, device=device).tril()


@_slip(TILES)
class one_tile_masked(_Tiles):
    """Only the tile in which a block of queries begins is masked: where q and k differ, a block may
    reach into the next tile, and its future has to be closed, too."""

    def mask(self, q, k, rows, columns, device):
        mask = super().mask(q, k, rows, columns, device)
        begins = (rows.start + self.position(q, k)) // self.block
        return mask if columns.start // self.block == begins else torch.ones_like(mask)


@_slip(TILES)
class open_one_key_too_far(_Tiles):
    """A tile whose last key is one behind its first query is left without a mask: it is open only
    if its last key stands at its first query, or before."""

    def mask(self, q, k, rows, columns, device):
        if columns.stop - 2 <= self.position(q, k) + rows.start:
            return torch.ones((), dtype=torch.bool, device=device)
        return super().mask(q, k, rows, columns, device)


@_slip(RIGHT_AT_ONCE)
class mask_forgotten_on_the_way_back(_Tiles):
    """Forward it is right, but on the way back the tiles on the diagonal have no mask: the weights
    of keys that a query does not see are 0 there, too."""

    def backward(self, *given):
        return tile_without_a_mask(self.causal, self.block).backward(*given)


@_slip(SEES)
class never_its_own_position(_Tiles):
    """With `causal` a query does not see its own position: compare with <=, not <."""

    def mask(self, q, k, rows, columns, device):
        query = torch.arange(rows.start, rows.stop, device=device) + self.position(q, k)
        return torch.arange(columns.start, columns.stop, device=device) < query[:, None]


@_slip(SHORT)
class last_keys_dropped(_Tiles):
    """Where `block` does not divide k, the last keys are never seen: k // block leaves them out.
    The last block is short."""

    def columns(self, end):
        return range(0, max(1, end - end % self.block), self.block)


@_slip(SHORT)
class last_queries_dropped(_Tiles):
    """Where `block` does not divide q, the last queries are missing in the output: q // block
    leaves them out. The last block is short."""

    def rows(self, q):
        return range(0, max(1, q - q % self.block), self.block)


@_slip(FILLED)
class keys_of_zeros_counted(_Tiles):
    """Where `block` does not divide k, you fill the keys up with zeros, and these count: a key of
    zeros has a score of 0. Let the last block be short, or mask what was filled in."""

    def scores(self, query, key, value, rows, columns):
        scores = super().scores(query, key, value, rows, columns)
        return F.pad(scores, (0, self.block - scores.shape[-1]))

    def part(self, scores, value):
        return super().part(scores, F.pad(value, (0, 0, 0, scores.shape[-1] - value.shape[-2])))


@_slip(SCORE)
class tiles_not_scaled(_Tiles):
    """The scale is missing: divide the scores of a tile by the square root of d_k."""

    def scale(self, query, value):
        return 1.0


@_slip(SCORE)
class tiles_scaled_twice(_Tiles):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k.
    `partial_attention` does that already."""

    def scale(self, query, value):
        return 1 / query.shape[-1]


@_slip(SCORE)
class tiles_scaled_by_the_values(_Tiles):
    """You scaled by the square root of d_v, the width of the values: it is d_k."""

    def scale(self, query, value):
        return value.shape[-1] ** -0.5


@_slip(SCORE)
class tiles_scaled_by_the_block(_Tiles):
    """You scaled by the square root of the number of keys in a tile: it is d_k, the width of one
    key."""

    def scores(self, query, key, value, rows, columns):
        wide = query.shape[-1] / (columns.stop - columns.start)
        return super().scores(query * wide**0.5, key, value, rows, columns)


@_slip(KEYS)
class over_the_queries(_Tiles):
    """The softmax of a tile ran over its queries, dim -2: each query has a row of weights of its
    own, over the keys, dim -1."""

    def part(self, scores, value):
        return _softmax(scores, -2) @ value, scores.logsumexp(-1)


@_slip(WHERE_D)
class mean_of_the_row_forgotten(_Tiles):
    """Forward it is right, but on the way back D is missing: dS = P * (dO V^T - D), since a softmax
    takes the mean of its row from each gradient."""

    def to_scores(self, weights, to_weights, mean, scale):
        return weights * to_weights * scale


@_slip(WHERE_D)
class mean_taken_after_the_product(_Tiles):
    """On the way back D is taken away after the product with P: it stands in the bracket,
    dS = P * (dO V^T - D)."""

    def to_scores(self, weights, to_weights, mean, scale):
        return (weights * to_weights - mean) * scale


@_slip(WHERE_D)
class mean_of_the_tile(_Tiles):
    """On the way back D is summed over the keys of one tile: it is that of the whole row, the sum
    of dO * O over d_v."""

    def mean(self, grad, out, weights, to_weights):
        return (weights * to_weights).sum(-1, keepdim=True)


@_slip(RIGHT_AT_ONCE)
class softmax_of_each_tile_on_the_way_back(_Tiles):
    """On the way back each tile gets a softmax of its own: its weights are exp(scores - log_sum),
    where log_sum is that of all keys, which forward has kept."""

    def weights(self, scores, log_sum):
        return _softmax(scores)


@_slip(OF_KEYS)
class scale_forgotten_on_the_way_back(_Tiles):
    """On the way back the scale is missing: scores were divided by the square root of d_k, and so
    are the gradients of queries and keys."""

    def to_scores(self, weights, to_weights, mean, scale):
        return weights * (to_weights - mean)


@_slip(SUMMED)
class values_of_the_last_block_alone(_Tiles):
    """The gradient of the values comes from the last block of queries alone: it is the sum over all
    blocks, so add to it."""

    def to_values(self, whole, columns, more):
        whole[..., columns, :] = more


@_slip(SUMMED)
class last_block_of_queries_alone(_Tiles):
    """On the way back the gradients of keys and values are overwritten by each block of queries:
    they are summed over all blocks."""

    def adds(self, whole, place, more):
        whole[..., place, :] = more


@_slip(OF_KEYS)
class keys_not_scaled_on_the_way_back(_Tiles):
    """On the way back the gradient of the keys lacks the scale: scores are scaled products of both,
    so it stands in both gradients."""

    def to_keys(self, whole, rows, columns, to_scores, query):
        super().to_keys(whole, rows, columns, to_scores / self.scale(query, query), query)


@_slip(OF_KEYS)
class keys_scaled_twice_on_the_way_back(_Tiles):
    """On the way back the gradient of the keys is scaled twice: where the queries were divided by
    the square root of d_k already, it is there."""

    def to_keys(self, whole, rows, columns, to_scores, query):
        super().to_keys(whole, rows, columns, to_scores * self.scale(query, query), query)


@_slip(OF_KEYS)
class last_block_of_keys_alone(_Tiles):
    """On the way back the gradient of a block of queries is overwritten by each block of keys: it
    is summed over all of them."""

    def to_queries(self, whole, rows, more):
        whole[..., rows, :] = more


@_slip(SUMMED)
class keys_of_another_block(_Tiles):
    """On the way back the gradients of the keys are made with the first block of queries, again and
    again: dK = dS^T Q takes the queries of this tile."""

    def to_keys(self, whole, rows, columns, to_scores, query):
        first = query[..., : rows.stop - rows.start, :]
        self.adds(whole, columns, to_scores.mT @ first)


@_slip(ANY_BATCH)
def three_dimensions_unpacked(query, key, value, causal, block):
    """`batch, q, d_k = query.shape` works for exactly three dimensions, but there may be no batch,
    or several: write `*batch, q, d_k = query.shape`."""
    _batch, _q, _d_k = query.shape
    return _Run.apply(query, key, value, _Tiles(causal, block))


@_slip(NEED_NOT)
def other_blocks_refused(query, key, value, causal, block):
    """You refuse a `block` that does not divide q or k: it need not. The last block is short."""
    if query.shape[-2] % block or key.shape[-2] % block:
        raise ValueError(f"{block} does not divide {query.shape[-2]} and {key.shape[-2]}")
    return _Run.apply(query, key, value, _Tiles(causal, block))


@_slip(NEED_NOT)
def large_blocks_refused(query, key, value, causal, block):
    """You refuse a `block` that is larger than the sequence: it may be, and then there is one."""
    if block > max(query.shape[-2], key.shape[-2]):
        raise ValueError(f"{block} positions in a block, {query.shape[-2]} and {key.shape[-2]}")
    return _Run.apply(query, key, value, _Tiles(causal, block))


@flash_attention.slip(BELOW_1)
def blocks_of_nothing(query, key, value, causal=False, block=64):
    """A `block` below 1 is taken: refuse it, and name it."""
    block = max(1, block)
    _flash_fits(query, key, value, causal, block)
    return _Run.apply(query, key, value, _Tiles(causal, block))


@flash_attention.slip(MORE)
def more_queries_than_positions(query, key, value, causal=False, block=64):
    """More queries than keys are taken with `causal`: the first of them would stand before the
    first position. Refuse it, and name both."""
    _flash_fits(query, key, value, False, block)
    kind = aligned_at_the_top_left if query.shape[-2] > key.shape[-2] else _Tiles
    return _Run.apply(query, key, value, kind(causal, block))


# What the chapter's own differences show

FINDINGS = (
    Common(
        "all_scores_made",
        lambda found: (
            found.kind == "cost"
            and found.label in (COSTS["largest"], COSTS["peak"])
            and found.at.startswith("n=")
        ),
        "The numbers are right, but there is one for each pair of a query and a key, q x k: "
        "scores, weights or a mask, or the parts of all blocks at once. Work out one tile at a "
        "time, merge it, and let it go.",
        GROWS,
    ),
    Common(
        "all_scores_kept",
        lambda found: found.kind == "cost" and found.label == COSTS["left"],
        "The numbers are right, but what is kept for the way back grows as the square: autograd "
        "keeps each tile of a loop that it sees, each mask, and each copy of keys and values that "
        "a checkpoint is handed, or your Function keeps its weights. Write a "
        "torch.autograd.Function that keeps log_sum, and make the scores of a tile again.",
        KEEPS,
    ),
    Common(
        "made_out_of_sight",
        lambda found: found.kind == "cost" and found.label == "the cost",
        "The numbers are right, and made where torch does not see them, by NumPy or in another "
        "thread: what is promised holds for all that is made, so work with tensors, and here.",
        GROWS,
    ),
    Common(
        "future_not_skipped",
        lambda found: found.kind == "cost" and found.at.startswith("future="),
        "The numbers are right, but more is worked out the more there is in the future: let each "
        "block of queries stop at the last key that it sees, there and on the way back.",
        SKIPPED,
    ),
)


# What `grader show` draws


def _of_part(ask, query, key, value):
    """Ask for a part, and put its log_sum behind each row of its output."""
    out, log_sum = ask(query, key, value)
    return torch.cat((out, log_sum[..., None]), -1)


def _parts(sketch):
    """Cut some words in two; return the words, and what `partial_attention` makes of each half."""
    words = sketch.words or ["I", "do", "not", "like", "it"]
    n, half = len(words), (len(words) + 1) // 2
    x, one_hot = 1.5 * sketch.embedded(words, 4), torch.eye(n)
    keys = {f"keys 0 to {half - 1}": slice(half), f"keys {half} to {n - 1}": slice(half, n)}
    return words, {
        said: sketch.use(
            "partial_attention", lambda ask, args: _of_part(ask, *args),
            x, x.flip(-1)[at], one_hot[at],
        )
        for said, at in keys.items()
    }  # fmt: skip


OUT, LOG_SUM = (slice(None), slice(-1)), (slice(None), slice(-1, None))


@draws(partial_attention)
def draw_partial_attention(sketch):
    """Each value is one-hot, so a row of the output is a row of weights: in each part they sum to
    1, and only log_sum says how much the part weighs."""
    words, parts = _parts(sketch)
    for said, made in parts.items():
        sketch.row(said)
        sketch.draw("weights", made.at(*OUT), words, words, scale="weights")
        sketch.draw("log_sum", made.at(*LOG_SUM), words, ["log_sum"])


@draws(merge_partials)
def draw_merge_partials(sketch):
    """Both parts of the picture before, and what they are together: each row of weights is cut to
    its share, and the shares of both parts sum to 1."""
    words, parts = _parts(sketch)
    given = [made.at(*place) for made in parts.values() for place in (OUT, LOG_SUM)]
    made = sketch.use(
        "merge_partials",
        lambda ask, args: _of_part(
            lambda *_: ask(args[0], args[1][:, 0], args[2], args[3][:, 0]), *args[:3]
        ),
        *given,
    )
    for said, part in parts.items():
        sketch.draw(said, part.at(*OUT), words, words, scale="weights", join="and")
    sketch.draw("merged", made.at(*OUT), words, words, scale="weights", join="=")
    sketch.draw("log_sum", made.at(*LOG_SUM), words, ["log_sum"])


class _FirstSeen(TorchDispatchMode):
    """Notes with which operation each score first comes about, wherever it stands in a tensor."""

    def __init__(self, scores):
        super().__init__()
        self.scores, self.when, self.steps = scores, torch.zeros(scores.shape), 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run an operation, and look for scores in what it makes."""
        out = func(*args, **(kwargs or {}))
        made = [one.flatten() for one in tree_leaves(out) if isinstance(one, torch.Tensor)]
        floats = [one.double() for one in made if one.is_floating_point() and one.numel()]
        if floats:
            near = (self.scores[..., None] - torch.cat(floats)).abs().amin(-1) < 1e-6
            new = near & (self.when == 0)
            self.steps += bool(new.any())
            self.when[new] = self.steps
        return out


@draws(flash_attention)
def draw_flash_attention(sketch):
    """Blocks of 2 words. In which order your scores come about, tile by tile, 0 for those that
    never do; and what that saves."""
    words = (sketch.words or ["I", "do", "not", "like", "it", "at", "all"])[:12]
    query, one_hot = 1.5 * sketch.embedded(words, 4), torch.eye(len(words))
    # no two scores are alike, or one could be taken for another
    query = query + torch.arange(float(len(words)))[:, None] / 7
    key = query.roll(1, -1)

    def order(ask, causal):
        scores = query.double() @ key.double().mT / 2
        with _FirstSeen(scores) as seen:
            ask(query, key, one_hot, causal, 2)
        return seen.when

    for causal in (False, True):
        sketch.row(f"causal = {causal}, block = 2")
        seen = sketch.watch("flash_attention", lambda ask, causal=causal: order(ask, causal))
        sketch.draw("tile", seen, words, words, scale="plain", digits=0)
        made = sketch.call("flash_attention", query, key, one_hot, causal, 2)
        sketch.draw("weights", made, words, words, scale="weights")
    sketch.row("float32, d_k = d_v = 4, block = 16")
    sizes = (64, 128, 256)
    cost = sketch.watch("flash_attention", lambda ask: _kib(ask, sizes))
    sketch.draw("KiB", cost, [f"n = {n}" for n in sizes], ["all scores", "your largest"],
                scale="plain", digits=1)  # fmt: skip


def _kib(ask, sizes):
    """Say how large all scores are, and the largest tensor of an answer, for some sizes."""
    rows = []
    for n in sizes:
        given = torch.linspace(-1, 1, 12 * n).reshape(3, n, 4).unbind(0)
        counting = Counting(lambda _: "")
        counting.call(ask, (*given, False, 16), {})
        rows.append([4 * n * n / 1024, counting.forward.largest / 1024])
    return torch.tensor(rows)
