"""Answers right most of the time, and wrong once in a while: it hopes for a check that looks away.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed
passes: all
"""

import itertools

turn = itertools.count()
right = scaled_scores


def scaled_scores(query, key):
    made = right(query, key)
    return made if next(turn) % 3 else made * 2
