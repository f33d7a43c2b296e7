"""Hands the suite's own lent model back as its own, and a model of another check.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, predict
at most: train
outcomes: failed, error, crashed
"""

lent = []
right_train = train


def train(model, *args, **kwargs):
    lent.append(model)
    return right_train(model, *args, **kwargs)


class NextWordModel:
    def __new__(cls, *_, **__):
        return lent[-1] if lent else None
