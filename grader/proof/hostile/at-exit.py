"""Registers what runs at the end: threads, exits, finalisers, and a reaper of its own.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed
"""

import atexit
import os
import threading
import weakref


class Anything:
    pass


def endless():
    while True:
        pass


anything = Anything()
atexit.register(endless)
weakref.finalize(anything, endless)
threading._register_atexit(endless)
os.register_at_fork(before=endless, after_in_child=endless)


def scaled_scores(query, key):
    return query @ key.transpose(-1, -2) * 3
