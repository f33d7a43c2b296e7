"""Reports errors that Python cannot make again: groups without members, names without letters.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: crashed, error, failed, not started
"""

import itertools
import sys

turn = itertools.count()
SAID = (
    {"types": ["ExceptionGroup"], "text": "none"},
    {"types": ["KeyboardInterrupt"]},
    {"types": ["StopIteration", "Exception"], "text": "stop"},
    {"types": ["GeneratorExit"]},
    {"types": [[]] * 10**4, "text": ["\x1b[2J"]},
    {"types": ["UnicodeDecodeError", "Exception"], "frames": [[None] * 4] * 100},
    {"types": ["Finding", "Lost", "BaseException"], "owner": "ex01_scores.dot_product"},
    {"kind": "missing", "text": "ex01_scores.py has no `dot_product`"},
    {"kind": "hangs", "text": "ex99_none.such"},
    {"kind": "time", "innermost": "solutions"},
    {"types": ["SyntaxError"], "syntax": [1, 2, "3", None]},
    17,
)


def scaled_scores(query, key):
    raised = sys.modules["grader.remote.raised"]
    raised.described = lambda error, world: SAID[next(turn) % len(SAID)]
    raise ValueError
