"""Brings further files that look like chapters, and that leave when they are imported.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""


def scaled_scores(query, key):
    return query


# file: ex00_first.py
# file: ex02_zzz.py
# file: ex99_last.py
import os

os._exit(0)
