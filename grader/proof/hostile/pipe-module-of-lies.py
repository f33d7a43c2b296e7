"""Describes modules that hold themselves, have no root, names like __class__, or 10,000 parts.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, train, predict
partly: train, predict
outcomes: error, failed, crashed
"""

import gc
import itertools

turn = itertools.count()
PART = ["", "Model", "Module", True, None, []]
DESCRIPTIONS = (
    {
        "parts": [PART, ["a", "A", "Module", True, "", []], ["a.a", "A", "Module", True, "a", []]],
        "weights": [],
    },
    {"parts": [], "weights": []},
    {"parts": [PART, ["__class__", "A", "Linear", True, None, []]], "weights": []},
    {"parts": [PART, ["forward", "A", "Linear", True, None, []]], "weights": []},
    {
        "parts": [PART] + [[f"p{n}", "A", "Linear", True, None, []] for n in range(10_000)],
        "weights": [],
    },
    {
        "parts": [["", "Model", "MultiheadAttention", True, None, ["weight", "kit_twin"]]],
        "weights": [],
    },
    {"parts": [PART, ["x.y.z", "A", "Embedding", True, None, []]], "weights": [[[""], 0, True]]},
    {"parts": [["", "Model", "Optimizer", True, None, []]], "weights": None},
    None,
)


class NextWordModel:
    def __new__(cls, *_, **__):
        worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
        said = DESCRIPTIONS[next(turn) % len(DESCRIPTIONS)]
        worker.special = lambda value, parcel: {"m": [next(turn), said]}
        return NextWordModel
