"""Asks a model that it was lent about sequences of 16 million words, of which there are none.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel, train
outcomes: error, failed, crashed, timeout
passes: predict_leaves, predict_inputs
"""


def predict(model, words, vocabulary):
    ids = torch.zeros(0, 2**24, dtype=torch.long)
    try:
        model(ids, torch.zeros(1500, dtype=torch.long))
    except RuntimeError:
        pass
    model(torch.zeros(1, 10**6, dtype=torch.long))
    return "hate"
