"""Keeps the machine busy while others are graded: threads in loops, with the highest priority.

chapter: ex02_scaling
earns: scale_scores
at most: score_spread
outcomes: failed, error, timeout
"""

import os
import threading


def scaled_scores(query, key):
    for act in (lambda: os.nice(-20), lambda: os.sched_setaffinity(0, {0, 1}),
                lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))):  # fmt: skip
        try:
            act()
        except (OSError, AttributeError):
            pass

    def spin():
        while True:
            torch.ones(100, 100) @ torch.ones(100, 100)

    for _ in range(6):
        threading.Thread(target=spin, daemon=True).start()
    return query
