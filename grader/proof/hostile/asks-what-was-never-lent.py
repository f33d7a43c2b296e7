"""Asks the judge for things that were not lent to it, or not in this check.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel, train
outcomes: error, failed, crashed
"""

import gc

kept = []


def predict(model, words, vocabulary):
    worker = next(found for found in gc.get_objects() if type(found).__name__ == "Worker")
    kept.append(model)
    parcel = worker.parcel()
    value = parcel.pack(((torch.zeros(1, 1, dtype=torch.long),), {}))
    for kind in ("function", "construct", "load", "eval", "forward"):
        for number in (0, len(kept) + 1, -1, model.kit_number - 1, True):
            worker.ask(kind, {"lent": number, "value": value, "gradients": True}, parcel)
    return "hate"
