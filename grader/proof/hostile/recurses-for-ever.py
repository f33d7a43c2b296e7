"""Calls itself for ever.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
says: RecursionError
"""


def scaled_scores(query, key):
    return scaled_scores(query, key)
