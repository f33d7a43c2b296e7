"""Answers right, but switches its alarm off and sleeps for longer than the judge waits, each time.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout
says: did not come back in time
"""

import signal
import time

right = scaled_scores


def scaled_scores(query, key):
    signal.setitimer(signal.ITIMER_REAL, 0)
    until = time.monotonic() + 8.0
    while time.monotonic() < until:
        try:
            time.sleep(until - time.monotonic())
        except BaseException:
            pass
    return right(query, key)
