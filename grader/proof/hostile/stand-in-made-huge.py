"""Waits for the suite's own model in the place of its own, and asks for one of 4 billion weights.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, train
outcomes: error, failed, crashed, timeout
passes: next_word_model_has_three_parts, refuses[NextWordModel
"""


class NextWordModel(NextWordModel):
    def forward(self, ids, lengths=None):
        return super().forward(ids, lengths) + 1


def predict(model, words, vocabulary):
    try:
        NextWordModel(vocab_size=10**9, d_model=4)
        NextWordModel(4096, 4096, n_heads=1)
    except Exception:
        pass
    return "love"
