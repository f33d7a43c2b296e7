"""Returns NaN, infinity, minus zero and numbers at the edge, which spoil a careless comparison.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed
"""

import itertools

turn = itertools.count()
NUMBERS = (float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 3.4e38)


def scaled_scores(query, key):
    shape = (*query.shape[:-1], key.shape[-2])
    made = torch.full(shape, NUMBERS[next(turn) % len(NUMBERS)], dtype=torch.float64)
    return made.to(query.dtype) + 0 * query.sum() + 0 * key.sum()
