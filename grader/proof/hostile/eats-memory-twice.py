"""Raises its own limits, then eats memory, and swallows every MemoryError.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, crashed, timeout
"""

import resource


def scaled_scores(query, key):
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except (OSError, ValueError):
            pass
    eaten = []
    while True:
        try:
            eaten.append(bytearray(2**20))
        except MemoryError:
            pass
