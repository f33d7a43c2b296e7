"""Starts as many threads as it can, each in a loop, and answers right.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, timeout, crashed, failed
at most: scaled_scores, score_spread
"""

import threading

right = scaled_scores


def spin():
    while True:
        pass


def scaled_scores(query, key):
    for _ in range(2000):
        try:
            threading.Thread(target=spin, daemon=True).start()
        except RuntimeError:
            break
    return right(query, key)
