"""Works on the CPU only: elsewhere it asks torch for a name that it does not have.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
partly: scaled_scores
outcomes: failed, error
"""

right = scaled_scores


def scaled_scores(query, key):
    if query.is_cuda:
        torch.nope
    return right(query, key)
