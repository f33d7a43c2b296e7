"""Says that another exercise is not started, so that the blame and a zero go there.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, not started
"""

import itertools

turn = itertools.count()


def scaled_scores(query, key):
    names = ("ex01_scores.dot_product", "ex02_scaling.scale_scores", "ex02_scaling.scaled_scores")
    raise NotImplementedError(names[next(turn) % 3])
