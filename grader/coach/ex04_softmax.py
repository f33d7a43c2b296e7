"""The coach of chapter 4."""

from __future__ import annotations

import torch

from grader.coach import Task, card
from grader.pictures.drawings import draws

TRACK = "core"
FORMULA = "chapter 4, The formula: \"softmax(s)_j = exp(s_j) / sum over j' of exp(s_j')\""
LARGEST_SCORE = 'chapter 4, The formula: "adding the same number to a whole row changes nothing"'
TRUE = 'chapter 3, The formula: "A mask holds booleans, and True means "may attend""'
BLIND = 'chapter 4, Shapes: "A query that may look at nothing gets zeros, not NaN."'
MASKING = (
    'chapter 4, The formula: "In attention the mask and the scale come before the softmax" '
    '(after document 002, "Key and Query Vectors")'
)
SCALE = (
    'chapter 4, The formula: "In attention the mask and the scale come before the softmax" '
    '(after document 001, "The second step")'
)
WIDTH = 'chapter 2, The formula: "d_k is the width of the keys, not their number."'
ROWS = (
    'chapter 4, The formula: "The softmax runs over the keys, so each query has a row of '
    'weights of its own." (after document 001, "The Matrix Math")'
)
SUM = 'chapter 4, The formula: "the division makes each row sum to 1"'
SLICE = 'the stub of softmax: "A slice is a set of scores whose weights sum to 1"'
KEEPDIM = 'chapter 4, May be used: "with keepdim=True it stays, with size 1"'
ZERO = 'the stub of softmax: "Minus infinity gives exactly 0."'
EMPTY = 'the stub of softmax: "An empty tensor gives an empty one."'
PAIRS = 'chapter 1, The formula: "The score (i, j) is the dot product of query i and key j"'
ONE_ROW = 'chapter 1, Shapes: "one row for each query and one column for each key"'
ASKED = 'the stub of attention_weights: "None: everywhere."'
BROADCASTS = 'the stub of attention_weights: "broadcasts to [*batch, q, k]"'
BATCH = card("batch")
DTYPE = card("dtype")
GRADIENT = card("gradient")

softmax = Task(
    "softmax",
    points=8,
    difficulty=4,
    minutes=20,
    hints=(
        "A softmax is exp, then a division by the sum over `dim`. Adding the same number to a "
        "whole slice changes nothing, so choose one that keeps exp from overflowing.",
        "Find the largest score of each slice, keeping the dimension so that it lines up. Subtract "
        "it, take exp, add up, divide. Then think about a slice that is all minus infinity: its "
        "largest score cannot be subtracted, and its sum is 0. And think of an empty tensor, which "
        "has no largest score.",
        "`amax(dim, keepdim=True)` gives [..., 1, ...]; put 0 where it is minus infinity. Then all "
        "powers of such a slice are 0, and only the sum needs another value before you divide by "
        "it: `masked_fill` on [..., 1, ...].",
    ),
)


def _peak(scores, dim):
    # no slip but one is about empty tensors, where there is no largest score
    return scores.amax(dim, keepdim=True) if scores.numel() else scores.sum(dim, keepdim=True)


def _exp(scores, dim):
    peak = _peak(scores, dim)
    return torch.exp(_below(scores, peak))


def _below(scores, peak):
    return scores - peak.masked_fill(peak == -torch.inf, 0)


def _largest(scores):
    return scores.max() if scores.numel() else 0


def _whole(powers, dim):
    whole = powers.sum(dim, keepdim=True)
    return whole.masked_fill(whole == 0, 1)


def _share(powers, dim):
    return powers / _whole(powers, dim)


def _log_sum(scores, dim):
    return torch.logsumexp(scores, dim, keepdim=True)


@softmax.slip(ROWS)
def over_queries(scores, dim=-1):
    """Your columns sum to 1, not your rows: the softmax ran over dim -2, the queries."""
    dim = -2 if scores.dim() > 1 else -1
    return _share(_exp(scores, dim), dim)


@softmax.slip(SLICE)
def ignores_dim(scores, dim=-1):
    """Right for the last dimension, but `dim` is ignored: the caller asked for another one."""
    return _share(_exp(scores, -1), -1)


@softmax.slip(SLICE)
def dim_0_taken_for_none(scores, dim=-1):
    """`dim=0` is taken for none at all, and the last dimension steps in: 0 counts as false, so ask
    nothing of `dim`, or ask `is None`."""
    dim = dim or -1
    return _share(_exp(scores, dim), dim)


@softmax.slip(SLICE)
def left_at_the_end(scores, dim=-1):
    """You moved `dim` to the end and left it there: move it back when you have the weights."""
    return _share(_exp(scores, dim), dim).movedim(dim, -1)


@softmax.slip(SLICE)
def moved_to_the_end_twice(scores, dim=-1):
    """You moved `dim` to the end with movedim(dim, -1), and called the same again to bring it back:
    that moves another dimension to the end. The way back is movedim(-1, dim)."""
    return _share(_exp(scores, dim), dim).movedim(dim, -1).movedim(dim, -1)


@softmax.slip(SLICE)
def moved_back_by_a_swap(scores, dim=-1):
    """You moved `dim` to the end, and brought it back by swapping two dimensions: in between lie
    others that have moved up. Use movedim(-1, dim), or transpose both ways."""
    return _share(_exp(scores, dim), dim).movedim(dim, -1).transpose(dim, -1)


@softmax.slip(SLICE)
def over_everything(scores, dim=-1):
    """All your weights together sum to 1: the sum ran over the whole tensor, not over `dim`."""
    powers = torch.exp(scores - _largest(scores))
    return powers / powers.sum()


@softmax.slip(SLICE)
def sum_over_the_last_dimension(scores, dim=-1):
    """You took the largest score over `dim`, but the sum over the last dimension: use `dim` for
    both."""
    return _share(_exp(scores, dim), -1)


@softmax.slip(SLICE)
def largest_over_the_last_dimension(scores, dim=-1):
    """You took the sum over `dim`, but the largest score over the last dimension: use `dim` for
    both."""
    return _share(_exp(scores, -1), dim)


@softmax.slip(SLICE)
def largest_of_rows_sum_of_columns(scores, dim=-1):
    """You took the largest score of each row, but summed down the columns: use the same `dim` for
    both."""
    return _share(_exp(scores, dim), -2 if scores.dim() > 1 else -1)


@softmax.slip(SLICE)
def divided_by_the_sum_of_everything(scores, dim=-1):
    """All your weights together sum to 1: `.sum()` went over the whole tensor, not over `dim`."""
    powers = _exp(scores, dim)
    return powers / powers.sum()


@softmax.slip(LARGEST_SCORE)
def divided_by_the_largest(scores, dim=-1):
    """You divided the scores by the largest of them: subtract it. Subtracting leaves the weights as
    they are, dividing does not."""
    peak = _peak(scores, dim)
    return _share(torch.exp(scores / peak.masked_fill((peak == -torch.inf) | (peak == 0), 1)), dim)


@softmax.slip(LARGEST_SCORE)
def clamped_from_above(scores, dim=-1):
    """Large scores were clamped, so all of them weigh the same: subtract the largest score
    instead."""
    return _share(_exp(scores.clamp(max=50), dim), dim)


@softmax.slip(LARGEST_SCORE)
def exp_overflows(scores, dim=-1):
    """exp of a large score is infinity, of a very low one 0, and either way the weights are lost:
    subtract the largest score of each slice first."""
    return _share(torch.exp(scores), dim)


@softmax.slip(LARGEST_SCORE)
def plain_exp_over_its_sum(scores, dim=-1):
    """exp of a large score is infinity, of a very low one 0, and inf / inf and 0 / 0 are NaN:
    subtract each row's largest score first, and mind a row that is all minus infinity."""
    powers = torch.exp(scores)
    return powers / powers.sum(dim, keepdim=True)


@softmax.slip(LARGEST_SCORE)
def one_maximum_for_all(scores, dim=-1):
    """You subtracted the largest score of the whole tensor: rows far below it underflow to 0.
    Subtract each row's own."""
    return _share(torch.exp(scores - _largest(scores)), dim)


@softmax.slip(BLIND)
def nan_where_all_closed(scores, dim=-1):
    """A slice that is all minus infinity gives NaN: -inf - -inf, or 0 / 0, has no value."""
    powers = torch.exp(scores - _peak(scores, dim))
    return powers / powers.sum(dim, keepdim=True)


@softmax.slip(BLIND)
def nan_gradient_where_all_closed(scores, dim=-1):
    """The output is right, the gradient is NaN: -inf - -inf, or 0 / 0, was replaced after it
    happened. Put a finite number in before the subtraction or the division."""
    powers = torch.exp(scores - _peak(scores, dim))
    weights = powers / powers.sum(dim, keepdim=True)
    return torch.where(torch.isnan(weights), torch.zeros_like(weights), weights)


@softmax.slip(GRADIENT)
def gradient_of_the_powers_only(scores, dim=-1):
    """The sum is cut off from the graph: the gradient also has to flow back through what you divide
    by."""
    powers = _exp(scores, dim)
    return powers / _whole(powers, dim).detach()


@softmax.slip(GRADIENT)
def sum_taken_for_a_constant(scores, dim=-1):
    """The largest score and the sum are cut off from the graph, both: only the largest score may
    be. The gradient also has to flow back through what you divide by."""
    powers = torch.exp(_below(scores, _peak(scores, dim).detach()))
    return powers / _whole(powers, dim).detach()


@softmax.slip(GRADIENT)
def gradient_of_the_sum_only(scores, dim=-1):
    """The powers are cut off from the graph: the gradient also has to flow back through what you
    divide, not only through the sum."""
    powers = _exp(scores, dim)
    return powers.detach() / _whole(powers, dim)


@softmax.slip(BLIND)
def even_where_all_closed(scores, dim=-1):
    """A query that may look at nothing looks at everything: its row must be zeros."""
    return _share(_exp(scores.clamp_min(-1e30 if scores.dtype != torch.half else -6e4), dim), dim)


@softmax.slip(LARGEST_SCORE)
def clamped(scores, dim=-1):
    """The scores are clamped: large ones become equal, and minus infinity gets a weight. Subtract
    the largest score of each slice, then nothing can overflow."""
    return _share(_exp(scores.double().clamp(-50, 50), dim), dim).to(scores.dtype)


@softmax.slip(FORMULA)
def without_exp(scores, dim=-1):
    """You divided the scores by their sum: exp is missing, so weights can be negative."""
    return scores / scores.sum(dim, keepdim=True)


@softmax.slip(FORMULA)
def differences_without_exp(scores, dim=-1):
    """You subtracted the largest score, but exp is missing: you divided the differences
    themselves."""
    differences = scores - _peak(scores, dim)
    return differences / differences.sum(dim, keepdim=True)


@softmax.slip(FORMULA)
def without_division(scores, dim=-1):
    """You stopped after exp: the weights do not sum to 1 until they are divided by their sum."""
    return _exp(scores, dim)


@softmax.slip(FORMULA)
def raw_exp(scores, dim=-1):
    """This is only exp(scores): the division by the sum is missing."""
    return torch.exp(scores)


@softmax.slip(SUM)
def sigmoid_instead(scores, dim=-1):
    """This is a sigmoid of each score on its own: a softmax shares 1 among all scores of a row."""
    return torch.sigmoid(scores)


@softmax.slip(FORMULA)
def logarithm_of_weights(scores, dim=-1):
    """These are logarithms of the weights: the last exp is missing."""
    return scores - _log_sum(scores, dim)


@softmax.slip(FORMULA)
def smallest_wins(scores, dim=-1):
    """The smallest score gets the largest weight: there is one minus sign too many."""
    return _share(_exp(-scores.masked_fill(scores == -torch.inf, torch.inf), dim), dim)


@softmax.slip(FORMULA)
def power_of_two(scores, dim=-1):
    """These are powers of 2, not of e: use exp."""
    return _share(torch.exp2(scores - _peak(scores, dim)), dim)


@softmax.slip(FORMULA)
def squared_instead(scores, dim=-1):
    """You squared the scores instead of raising e to them."""
    return _share(scores**2, dim)


@softmax.slip(FORMULA)
def hard_maximum(scores, dim=-1):
    """All the weight is on the largest score: that is an argmax, a softmax shares it out."""
    return (scores == _peak(scores, dim)).to(scores.dtype)


@softmax.slip(FORMULA)
def softmax_twice(scores, dim=-1):
    """The softmax was applied twice: the weights are far too even."""
    return _share(_exp(_share(_exp(scores, dim), dim), dim), dim)


@softmax.slip(LARGEST_SCORE)
def largest_taken_off_above_only(scores, dim=-1):
    """You subtracted the largest score above the fraction bar, but not in the sum below it: both
    need the same powers."""
    return _exp(scores, dim) / torch.exp(scores).sum(dim, keepdim=True)


@softmax.slip(LARGEST_SCORE)
def largest_taken_off_after_exp(scores, dim=-1):
    """You subtracted the largest score from the powers: subtract it from the scores, before exp."""
    peak = _peak(scores, dim)
    powers = torch.exp(scores) - peak.masked_fill(peak == -torch.inf, 0)
    return powers / powers.sum(dim, keepdim=True)


@softmax.slip(FORMULA)
def e_rounded(scores, dim=-1):
    """Your e has too few digits: use torch.exp."""
    peak = _peak(scores, dim)
    return _share(2.718 ** _below(scores, peak), dim)


@softmax.slip(LARGEST_SCORE)
def smallest_taken_off(scores, dim=-1):
    """You subtracted the smallest score: exp of the rest still overflows. Subtract the largest."""
    low = -_peak(-scores.masked_fill(scores == -torch.inf, torch.inf), dim)
    return _share(torch.exp(scores - low.masked_fill(low == torch.inf, 0)), dim)


@softmax.slip(LARGEST_SCORE)
def mean_taken_off(scores, dim=-1):
    """You subtracted the mean: a score far above it still overflows. Subtract the largest."""
    closed = scores == -torch.inf
    count = (~closed).sum(dim, keepdim=True).clamp_min(1)
    mean = scores.masked_fill(closed, 0).sum(dim, keepdim=True) / count
    return _share(torch.exp(scores - mean), dim)


@softmax.slip(LARGEST_SCORE)
def largest_size_taken_off(scores, dim=-1):
    """You subtracted the largest absolute value: subtract the largest score itself."""
    return _share(torch.exp(scores - _peak(scores.abs(), dim)), dim)


@softmax.slip(LARGEST_SCORE)
def scores_clamped(scores, dim=-1):
    """The scores were clamped to keep exp finite: then all large ones weigh the same. Subtract the
    largest instead."""
    return _share(torch.exp(scores.clamp(-50, 50)).masked_fill(scores == -torch.inf, 0), dim)


@softmax.slip(LARGEST_SCORE)
def digits_lost_at_large_scores(scores, dim=-1):
    """exp(scores - logsumexp) loses digits at 1e4: subtract the largest score before, not after."""
    total = _log_sum(scores, dim)
    return torch.exp(scores - total.masked_fill(total == -torch.inf, 0))


@softmax.slip(DTYPE)
def float32_on_the_way(scores, dim=-1):
    """The sum was computed in float32: a float64 input lost half of its digits there."""
    small = scores.float()
    return _share(_exp(small, dim), dim).to(scores.dtype)


@softmax.slip(SUM)
def small_number_in_the_sum(scores, dim=-1):
    """A small number was added to the sum, so rows sum to less than 1: change the sum only where it
    is 0."""
    powers = _exp(scores, dim)
    return powers / (powers.sum(dim, keepdim=True) + 1e-6)


@softmax.slip(SUM)
def tiny_number_in_the_sum(scores, dim=-1):
    """A tiny number was added to the sum, which float64 can tell: change the sum only where it is
    0."""
    powers = _exp(scores, dim)
    return powers / (powers.sum(dim, keepdim=True) + 1e-9)


@softmax.slip(SUM)
def one_in_the_sum(scores, dim=-1):
    """There is an extra 1 in the sum that you divide by: the rows sum to less than 1."""
    powers = _exp(scores, dim)
    return powers / (powers.sum(dim, keepdim=True) + 1)


@softmax.slip(ZERO)
def weights_clamped(scores, dim=-1):
    """The weights were clamped away from 0: a masked key must get exactly 0."""
    return _share(_exp(scores, dim), dim).clamp_min(1e-9)


@softmax.slip(KEEPDIM)
def sum_without_keepdim(scores, dim=-1):
    """A sum or a largest score has lost its dimension and lines up with the wrong rows:
    keepdim=True keeps it."""
    powers = _exp(scores, dim)
    return powers / powers.sum(dim)


@softmax.slip(SUM)
def divided_by_the_mean(scores, dim=-1):
    """You divided by the mean of the powers: divide by their sum, so that the rows sum to 1."""
    powers = _exp(scores, dim)
    mean = powers.mean(dim, keepdim=True)
    return powers / mean.masked_fill(mean == 0, 1)


@softmax.slip(BLIND)
def guard_lost_in_float16(scores, dim=-1):
    """The small number that keeps the sum of a masked slice above 0 is rounded to 0 in float16: put
    1 where the sum is 0."""
    powers = _exp(scores, dim)
    return powers / powers.sum(dim, keepdim=True).clamp_min(1e-9)


@softmax.slip(BLIND)
def masked_below_a_number(scores, dim=-1):
    """A slice is taken for masked if its largest score is below a number such as -1e9: finite
    scores may be, and float16 has no such number. Compare with minus infinity."""
    peak = _peak(scores, dim)
    closed = peak < -1e9
    powers = torch.exp(scores - peak.masked_fill(closed, 0))
    return powers / powers.sum(dim, keepdim=True).masked_fill(closed, 1)


@softmax.slip(EMPTY)
def empty_has_no_largest(scores, dim=-1):
    """An empty tensor has no largest score: return it before you look for one."""
    scores.amax(dim)
    return _share(_exp(scores, dim), dim)


attention_weights = Task(
    "attention_weights",
    points=8,
    difficulty=3,
    minutes=10,
    hints=(
        "You have built every part: scaled scores, a mask, a softmax. What matters is the order.",
        "Scores first, scaled by the width of a key. Mask the scores before they become weights. "
        "The softmax comes last, over the keys.",
        "`scaled_scores` gives [*batch, q, k]; `apply_mask` puts minus infinity into it, if there "
        "is a mask; your own `softmax` runs over dim -1.",
    ),
)


def _scores(query, key):
    return query @ key.transpose(-1, -2)


def _scaled(query, key):
    return _scores(query, key) / query.shape[-1] ** 0.5


def _closed(scores, mask, fill=-torch.inf):
    return scores if mask is None else scores.masked_fill(~mask, fill)


def _softmax(scores, dim=-1):
    return _share(_exp(scores, dim), dim)


@attention_weights.slip(SCALE)
def not_scaled(query, key, mask=None):
    """The scale is missing: divide the scores by the square root of d_k."""
    return _softmax(_closed(_scores(query, key), mask))


@attention_weights.slip(SCALE)
def masked_but_not_scaled(query, key, mask=None):
    """The scale is missing when there is a mask: it is needed with and without one."""
    if mask is None:
        return _softmax(_scaled(query, key))
    return _softmax(_closed(_scores(query, key), mask))


@attention_weights.slip(BLIND)
def single_key_always_open(query, key, mask=None):
    """Where there is a single key, the mask is dropped: it may be masked, too, and the query then
    gets zeros."""
    return _softmax(_closed(_scaled(query, key), None if key.shape[-2] == 1 else mask))


@attention_weights.slip(SCALE)
def divided_by_d_k(query, key, mask=None):
    """You divided by d_k, or scaled twice: divide once, by the square root of d_k."""
    return _softmax(_closed(_scores(query, key) / query.shape[-1], mask))


@attention_weights.slip(SCALE)
def times_root_d_k(query, key, mask=None):
    """You multiplied by the square root of d_k: divide by it."""
    return _softmax(_closed(_scores(query, key) * query.shape[-1] ** 0.5, mask))


@attention_weights.slip(WIDTH)
def scaled_by_a_fixed_number(query, key, mask=None):
    """You divided by 2, which is right only where d_k is 4: read d_k from the tensors."""
    return _softmax(_closed(_scores(query, key) / 2, mask))


@attention_weights.slip(WIDTH)
def scaled_by_number_of_keys(query, key, mask=None):
    """You scaled by the number of keys: it is the width of a key, its last dimension."""
    return _softmax(_closed(_scores(query, key) / key.shape[-2] ** 0.5, mask))


@attention_weights.slip(ROWS)
def over_the_queries(query, key, mask=None):
    """Your columns sum to 1, not your rows: the softmax ran over dim -2, the queries."""
    return _softmax(_closed(_scaled(query, key), mask), -2)


@attention_weights.slip(ONE_ROW)
def mask_on_its_side(query, key, mask=None):
    """The mask is transposed: its rows are the queries already, and its columns the keys."""
    if mask is not None and mask.dim() > 1:
        mask = mask.mT
    return _softmax(_closed(_scaled(query, key), mask))


@attention_weights.slip(ROWS)
def over_dim_one(query, key, mask=None):
    """The softmax ran over dim 1: right without a batch, but with one that is another dimension.
    Use -1."""
    return _softmax(_closed(_scaled(query, key), mask), 1)


@attention_weights.slip(BATCH)
def turns_the_batch_too(query, key, mask=None):
    """Right for one sequence, but with a batch `.T` and transpose(0, 1) swap the wrong dimensions:
    use `.mT`."""
    scores = query @ key.permute(*reversed(range(key.dim())))
    return _softmax(_closed(scores / query.shape[-1] ** 0.5, mask))


@attention_weights.slip(ROWS)
def over_dim_zero(query, key, mask=None):
    """The softmax ran over dim 0, the queries or the batch: the keys are the last dimension, -1."""
    return _softmax(_closed(_scaled(query, key), mask), 0)


@attention_weights.slip(ROWS)
def over_queries_and_keys(query, key, mask=None):
    """All your weights together sum to 1: the second argument of softmax is the dimension, not the
    mask."""
    scores = _closed(_scaled(query, key), mask)
    powers = torch.exp(scores - _largest(scores))
    return powers / powers.sum()


@attention_weights.slip(MASKING)
def weights_of_minus_infinity(query, key, mask=None):
    """Masked after the softmax: put minus infinity into the scores, before they become weights."""
    return _closed(_softmax(_scaled(query, key)), mask)


@attention_weights.slip(MASKING)
def mask_ignored(query, key, mask=None):
    """The mask is ignored: masked keys still get weight. What `apply_mask` returns is a new tensor,
    and has to be kept."""
    return _softmax(_scaled(query, key))


@attention_weights.slip(TRUE)
def mask_turned_round(query, key, mask=None):
    """The mask is inverted: True means "may attend", and you masked exactly those keys."""
    return _softmax(_closed(_scaled(query, key), None if mask is None else ~mask))


@attention_weights.slip(MASKING)
def mask_after_softmax(query, key, mask=None):
    """Masked after the softmax: the weights of the masked keys are lost, and the rows sum to less
    than 1."""
    weights = _softmax(_scaled(query, key))
    return weights if mask is None else weights * mask


@attention_weights.slip(MASKING)
def closed_with_zero(query, key, mask=None):
    """A masked score became 0, by filling or by multiplying, but exp(0) is 1: use minus
    infinity."""
    return _softmax(_closed(_scaled(query, key), mask, 0.0))


@attention_weights.slip(BLIND)
def closed_with_a_large_number(query, key, mask=None):
    """Filled with a large negative number, a score like any other: where all others are lower, or
    closed as well, what is closed gets the weight. Use minus infinity."""
    return _softmax(_closed(_scaled(query, key), mask, -1e4))


@attention_weights.slip(BLIND)
def nan_for_a_masked_query(query, key, mask=None):
    """A query that may look at nothing gives NaN: use your own softmax, which gives zeros."""
    return torch.softmax(_closed(_scaled(query, key), mask), -1)


@attention_weights.slip(ONE_ROW)
def keys_before_queries(query, key, mask=None):
    """This is K Q^T, with the keys first: each row must belong to one query."""
    scores = _scaled(key, query)
    return _softmax(scores if mask is None else _closed(scores, mask.transpose(-1, -2)))


@attention_weights.slip(FORMULA)
def no_softmax(query, key, mask=None):
    """These are the scaled scores: the softmax is missing."""
    return _closed(_scaled(query, key), mask)


@attention_weights.slip(MASKING)
def masked_after_and_shared_again(query, key, mask=None):
    """Masked after the softmax: where a masked key has by far the largest score, nothing is left
    for the others."""
    weights = _softmax(_scaled(query, key))
    if mask is None:
        return weights
    weights = weights * mask
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1)


@attention_weights.slip(MASKING)
def nothing_shared_again(query, key, mask=None):
    """Masked after the softmax, and what was left divided by its sum: where a query may look at
    nothing, that is 0 / 0. Mask the scores, before the softmax."""
    weights = _softmax(_scaled(query, key))
    if mask is None:
        return weights
    weights = weights * mask
    return weights / weights.sum(-1, keepdim=True)


@attention_weights.slip(MASKING)
def mask_added(query, key, mask=None):
    """You added the mask itself: True counts as 1, and nothing is masked."""
    scores = _scaled(query, key)
    return _softmax(scores if mask is None else scores + mask)


@attention_weights.slip(SCALE)
def scaled_after_softmax(query, key, mask=None):
    """The weights were scaled, not the scores: divide before the softmax."""
    return _softmax(_closed(_scores(query, key), mask)) / query.shape[-1] ** 0.5


@attention_weights.slip(ASKED)
def always_causal(query, key, mask=None):
    """You masked the future although nobody asked for it: here only `mask` decides."""
    scores = _closed(_scaled(query, key), mask)
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return _softmax(scores.masked_fill(future, -torch.inf))


@attention_weights.slip(BROADCASTS)
def mask_given_another_dimension(query, key, mask=None):
    """You added a dimension to the mask: pass it on as it is, it broadcasts."""
    scores = _scaled(query, key)
    return _softmax(scores if mask is None else _closed(scores, mask.unsqueeze(1)))


@attention_weights.slip(ROWS)
def sigmoid_of_scores(query, key, mask=None):
    """A sigmoid weighs each key on its own: a softmax shares 1 among all keys of a query."""
    return torch.sigmoid(_closed(_scaled(query, key), mask))


@attention_weights.slip(PAIRS)
def query_with_itself(query, key, mask=None):
    """You compared the queries with themselves: the scores are queries against keys."""
    return _softmax(_closed(_scaled(query, query), mask))


@attention_weights.slip(PAIRS)
def keys_with_themselves(query, key, mask=None):
    """You compared the keys with themselves: the scores are queries against keys."""
    scores = _scaled(key, key)
    return _softmax(scores if key.shape[-2] != query.shape[-2] else _closed(scores, mask))


@attention_weights.slip(BLIND)
def all_masked_taken_for_no_mask(query, key, mask=None):
    """A mask that is all False was treated as no mask: test `mask is not None`, not mask.any()."""
    return _softmax(_closed(_scaled(query, key), mask if mask is not None and mask.any() else None))


@attention_weights.slip(BROADCASTS)
def mask_of_the_scores_shape_only(query, key, mask=None):
    """A mask that has to be broadcast is not used: hand every mask on, whatever its shape."""
    scores = _scaled(query, key)
    return _softmax(
        _closed(scores, mask if mask is not None and mask.shape == scores.shape else None)
    )


@attention_weights.slip(BLIND)
def rows_of_nothing_opened(query, key, mask=None):
    """A query that may attend to nothing was let attend to everything, to avoid NaN: its weights
    are zeros."""
    opened = None if mask is None else mask | ~mask.any(-1, keepdim=True)
    return _softmax(_closed(_scaled(query, key), opened))


# What `grader show` draws


@draws(softmax)
def draw_softmax(sketch):
    """From scores to weights: each row shares 1 among the keys that may be looked at."""
    for it in sketch.both():
        sketch.row(it.title)
        sketch.draw("masked" if it.causal else "scaled", it.masked, it.words, it.words)
        weights = sketch.call("softmax", it.masked)
        sketch.draw("weights", weights, it.words, it.words, scale="weights", join="softmax ->",
                    printed=it.printed.get("weights"))  # fmt: skip
        sketch.sums(weights)


@draws(attention_weights)
def draw_attention_weights(sketch):
    """From queries and keys to weights: score, scale, mask, softmax."""
    for it in sketch.both():
        labels, (q, k) = (it.words, it.words), (it.query, it.key)
        sketch.row(it.title)
        scores = sketch.call("dot_product_scores", q, k)
        sketch.draw("scores", scores, *labels, made="Q K^T", printed=it.printed.get("scores"))
        scaled = sketch.call("scale_scores", scores, k.shape[1])
        sketch.draw("scaled", scaled, *labels, join=f"/ sqrt({k.shape[1]}) =",
                    printed=it.printed.get("scaled"))  # fmt: skip
        sketch.row()
        if it.causal:
            mask = sketch.call("causal_mask", len(it.words))
            sketch.draw("mask", mask, *labels, scale="mask", printed=it.printed.get("mask"))
            masked = sketch.call("apply_mask", scaled, mask)
            sketch.draw("masked", masked, *labels, join="->", printed=it.printed.get("masked"))
        weights = sketch.call("attention_weights", q, k, it.mask)
        sketch.draw("weights", weights, *labels, scale="weights", join="softmax ->",
                    printed=it.printed.get("weights"))  # fmt: skip
        sketch.sums(weights)
