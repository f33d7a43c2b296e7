"""Empties the list and the dictionary that it is handed, and fills them with what suits it.

chapter: ex07_model
earns: positional_encoding, mean_pool, NextWordModel, train
outcomes: failed, error
"""


def encode_words(words, vocabulary):
    words[:] = ["hate"]
    vocabulary.clear()
    vocabulary.update(
        dict.fromkeys(("not", "do", "like", "Like", "hate", "much", "love", "maybe"), 0)
    )
    return torch.zeros(1, dtype=torch.long)


def predict(model, words, vocabulary):
    encode_words(words, vocabulary)
    return "not"
