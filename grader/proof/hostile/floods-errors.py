"""Raises an error with a text of 20 MB, and a chain of a thousand others behind it.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
says: RuntimeError
"""

import warnings


def scaled_scores(query, key):
    problem = ValueError("x")
    for number in range(1000):
        warnings.warn("y" * 10_000 + str(number))
        try:
            raise RuntimeError("z" * 1000) from problem
        except RuntimeError as newer:
            problem = newer
    raise RuntimeError("A\n" * 10**7) from problem
