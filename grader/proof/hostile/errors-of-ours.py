"""Takes the grader's own errors out of its process and raises those.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, timeout, not started, failed, crashed
"""

import itertools
import sys

trouble = sys.modules["grader.trouble"]
channel = sys.modules["grader.remote.channel"]
turn = itertools.count()
MAKE = (
    lambda: trouble.Lost("passed", "has passed"),
    lambda: trouble.Missing("ex01_scores.py has no `dot_product`"),
    lambda: trouble.BrokenFile("ex01_scores", ValueError("passed")),
    lambda: trouble.HangsError("ex01_scores.dot_product"),
    lambda: channel.WireError("passed"),
    lambda: EOFError("passed"),
    lambda: KeyboardInterrupt(),
    lambda: GeneratorExit(),
    lambda: StopIteration(torch.ones(5, 7)),
    lambda: AssertionError(),
)


def scaled_scores(query, key):
    raise MAKE[next(turn) % len(MAKE)]()
