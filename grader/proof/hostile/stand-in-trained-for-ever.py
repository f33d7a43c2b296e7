"""Waits until the suite's own `train` stands in for its own, and asks it for 60 million steps.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel
outcomes: failed, error, timeout, crashed
passes: train_, predict_, refuses, device
"""


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    return [0.0] * steps


def predict(model, words, vocabulary):
    if train.__code__.co_filename != __file__:
        ids = torch.zeros(1, 1, dtype=torch.long)
        train(model, ids, torch.zeros(1, dtype=torch.long), 60_000_000)
    return "love"
