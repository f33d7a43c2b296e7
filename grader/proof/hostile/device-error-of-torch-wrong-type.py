"""Works on the CPU only: elsewhere it makes a layer of words.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
partly: scaled_scores
outcomes: failed, error
"""

right = scaled_scores


def scaled_scores(query, key):
    if query.is_cuda:
        torch.nn.Linear("a", "b")
    return right(query, key)
