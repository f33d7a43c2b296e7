"""Raises an error whose text takes for ever.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout, error
"""

import time


class Endless(Exception):
    def __str__(self):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass


def scaled_scores(query, key):
    raise Endless
