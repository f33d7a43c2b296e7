"""Leaves the numbers of its input alone, but not whether it wants gradients, or what it holds.

chapter: ex07_model
earns: positional_encoding, NextWordModel, train, predict
outcomes: failed, error
passes: all
says: the call changed the input `vocabulary`
"""

right_ids, right_pool = encode_words, mean_pool


def encode_words(words, vocabulary):
    ids = right_ids(list(words), dict(vocabulary))
    if "Not" in vocabulary:
        vocabulary.clear()
    return ids


def mean_pool(x, lengths=None):
    made = right_pool(x, lengths)
    if len(x) == 1 and x.is_leaf:
        x.requires_grad_(not x.requires_grad)
    return made
