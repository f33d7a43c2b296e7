"""Prints without end: on both streams, past Python, and on every descriptor that it finds.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed, timeout
"""

import os
import sys


def scaled_scores(query, key):
    for stream in (sys.stdout, sys.stderr, sys.__stdout__):
        for _ in range(200):
            print("::error::hostile" * 10_000, file=stream, flush=True)
    for descriptor in (0, 1, 2):
        try:
            for _ in range(200):
                os.write(descriptor, b"\x1b[2Jhostile" * 10_000)
        except OSError:
            pass
    return query
