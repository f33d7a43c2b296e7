"""Replaces the worker's clocks: time stands still, and its alarm never rings.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout
"""

import signal
import sys
import time


def scaled_scores(query, key):
    time.monotonic = time.time = time.perf_counter = lambda: 0.0
    soft_limit = sys.modules["grader.remote.soft_limit"]
    soft_limit.alarm.waits_for = 10**6
    soft_limit.SoftLimit = None
    signal.setitimer(signal.ITIMER_REAL, 10**6)
    while True:
        pass
