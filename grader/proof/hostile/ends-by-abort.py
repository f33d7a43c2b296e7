"""Aborts.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: crashed
says: SIGABRT
"""

import os


def scaled_scores(query, key):
    os.abort()
