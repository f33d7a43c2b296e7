"""Returns tensors of billions of numbers that take no memory where they are made.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""

import itertools

turn = itertools.count()
SHAPES = ((2**31,), (2**40,), (5, 7, 2**36), (2**16,) * 3, (1,) * 15 + (2**62,), (2**30, 0))


def scaled_scores(query, key):
    return torch.zeros(()).expand(SHAPES[next(turn) % len(SHAPES)])
