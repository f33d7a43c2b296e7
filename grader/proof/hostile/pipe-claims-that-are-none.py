"""Adds claims of the wrong kind to every reply: what was seen, handed on, left, changed.

chapter: ex02_scaling
earns: score_spread
outcomes: error, failed, crashed
"""

import itertools
import sys

turn = itertools.count()
CLAIMS = (
    {"handed": [[1], [2], [3]]},
    {"handed": [{}, "", {"u": [{"u": []}, {"d": []}]}], "raised": 3},
    {"switched": [[], {}, "nothing"]},
    {"flags": [[0, "grad"], [99, "grad"]]},
    {"seen": {"a": 1}, "asked": "softmax", "mistakes": 17},
    {"switched": ["\x1b]0;owned\x07" * 100] * 10_000},
    {"inputs": [[10**9, 0]]},
    {"inputs": [[[], {}]]},
    {"modules": [["lent", 1, [], [], []]]},
    {"modules": [["own", {}, [], [], []]]},
    {"holders": [[0, {"d": []}]]},
    {"token": -1},
    {"token": [1]},
)


def scale_scores(scores, d_k):
    wire = sys.modules["grader.remote.wire"]
    honest = wire.json.JSONEncoder(separators=(",", ":")).encode
    wire.ENCODE = lambda header: honest({**header, **CLAIMS[next(turn) % len(CLAIMS)]})
    return scores * 2
