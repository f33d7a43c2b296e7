"""Uses up the stack below Python, where no RecursionError helps.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: crashed, error
"""

import sys
import threading


def scaled_scores(query, key):
    sys.setrecursionlimit(10**9)
    nested = None
    for _ in range(10**6):
        nested = (nested,)
    hash(nested)

    class Deep:
        def __getattr__(self, name):
            return repr(self)

        def __repr__(self):
            return repr(self)

    return repr(Deep())
