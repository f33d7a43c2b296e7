"""Returns an object that takes for ever to be described.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout, failed, error
"""

import time


class Endless:
    def __repr__(self):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass


def scaled_scores(query, key):
    return Endless()
