"""Aborts in an earlier function, which a later one calls.

chapter: ex02_scaling
earns: score_spread
outcomes: crashed
says: only ex02_scaling.scale_scores is wrong
"""

import os


def scale_scores(scores, d_k):
    os.abort()
