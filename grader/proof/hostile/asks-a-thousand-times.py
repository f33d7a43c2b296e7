"""Calls the model that it was lent again and again, each time with all the words that may be.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel, train
outcomes: error, failed, crashed, timeout
"""


def predict(model, words, vocabulary):
    ids = torch.zeros(1, 2000, dtype=torch.long)
    while True:
        model(ids)
