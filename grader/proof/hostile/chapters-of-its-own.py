"""Imports a chapter of its own that patches the others after they were imported.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""

import ex98_helper


def scaled_scores(query, key):
    ex98_helper.patch()
    return query


# file: ex98_helper.py
import sys


def patch():
    import ex01_scores

    sys.modules["exercises.ex02_scaling"] = ex01_scores
    for name in list(vars(ex01_scores)):
        if "score" in name:
            setattr(ex01_scores, name, lambda *_: True)
