"""Describes tensors that cannot be: negative, endless or overflowing sizes, unknown dtypes.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed, crashed
"""

import gc
import itertools

turn = itertools.count()
METAS = (
    ["float32", [-5, -7], None, False, ""],
    ["float32", [5, 7], [-7, 1], False, ""],
    ["float32", [0] + [2**24] * 15, None, False, ""],
    ["float32", [2**24] * 15 + [0], None, False, ""],
    ["float32", [5, True], None, False, ""],
    ["float32", [5, 7], None, 1, ""],
    ["object", [5, 7], None, False, ""],
    ["float99", [5, 7], None, False, ""],
    ["float32", [2] * 40, None, False, ""],
    ["float32", [10**30], None, False, ""],
    ["int64", [0], None, True, ""],
    ["float32", [5, 7], None, False, "cuda:0"],
    ["float32", [5, 7], None, False, "\x1b[2J"],
    [["float32"], [5, 7], None, False, ""],
    ["float32", {"l": []}, None, False, None],
    [],
)


def scaled_scores(query, key):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    meta = METAS[next(turn) % len(METAS)]
    worker.on_call = lambda message: ({"value": {"t": 0}, "tensors": [meta]}, None)
    raise worker_gone


worker_gone = ValueError("the next answers are made up")
