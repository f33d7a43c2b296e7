"""Loops for ever, and swallows whatever would end it.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout
says: did not come back in time
"""


def scaled_scores(query, key):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
