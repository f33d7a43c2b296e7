"""Ends its process with status 0 before anybody can compare.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: crashed
says: ended its process by itself, with status 0
"""

import os


def scaled_scores(query, key):
    os._exit(0)
