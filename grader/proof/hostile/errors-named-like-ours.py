"""Raises errors with the names of the grader's own: Lost, TimeLimit, Finding, Missing, Failed.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, timeout, not started, failed
"""

import itertools

turn = itertools.count()
NAMES = ("Lost", "Finding", "Missing", "BrokenFile", "HangsError", "WireError", "NurseryError",
         "Unanswerable", "GradingError", "StopAsked", "Outcome")  # fmt: skip


def scaled_scores(query, key):
    name = NAMES[next(turn) % len(NAMES)]
    base = (Exception, BaseException, AssertionError)[next(turn) % 3]
    raise type(name, (base,), {"verdict": "passed", "says": "passed", "kind": "passed"})("passed")
