"""Returns a list of ten thousand objects, a dictionary of as many, and a number of 4000 digits.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed
"""

import itertools

turn = itertools.count()


def scaled_scores(query, key):
    return (
        [object() for _ in range(10_000)],
        {n: object() for n in range(10_000)},
        9**4000,
        [[[[[[[[[[[[[[[[[[[[[[[[query]]]]]]]]]]]]]]]]]]]]]]]],
        [query] * 20_000,
    )[next(turn) % 5]
