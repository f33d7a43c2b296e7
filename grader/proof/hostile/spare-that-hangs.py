"""Fails at once where it decides, and hangs only where the judge looks into what went wrong.

chapter: ex02_scaling
earns: score_spread
outcomes: failed, timeout
"""

import time


def scale_scores(scores, d_k):
    return scores / (d_k + 1)


def scaled_scores(query, key):
    if scale_scores.__code__.co_filename != __file__:  # a stand-in is in its place
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass
    return scale_scores(query @ key.transpose(-1, -2), key.shape[-1])
