"""Forks twice and leaves a process behind that would write a file and keep a core busy.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed, timeout
"""

import os
import time


def scaled_scores(query, key):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            until = time.monotonic() + 600
            while time.monotonic() < until:
                open("/tmp/hostile-was-here", "w").close()
        os._exit(0)
    return query
