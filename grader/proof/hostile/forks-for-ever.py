"""Forks for ever, each child forking on.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed, timeout
"""

import os


def scaled_scores(query, key):
    while True:
        os.fork()
