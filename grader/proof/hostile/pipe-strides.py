"""Sends a few bytes and strides that make 16 million numbers of them, a hundred times over.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, train, predict
at most: train, predict
outcomes: error, failed, crashed
"""

import gc


class NextWordModel:
    def __new__(cls, *_, **__):
        worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
        worker.on_call = huge
        return None


def huge(message):
    metas = [["complex128", [2**12, 2**12], [0, 0], False, ""] for _ in range(500)]
    weights = [[[f"w{place}"], place, False] for place in range(500)]
    described = {"parts": [["", "Model", "Module", True, None, []]], "weights": weights}
    parcel = type("Bytes", (), {"metas": metas, "size": 8000, "chunks": [bytes(8000)]})()
    return {"value": {"m": [1, described]}}, parcel
