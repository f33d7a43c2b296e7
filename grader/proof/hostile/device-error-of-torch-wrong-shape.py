"""Works on the CPU only: elsewhere it asks torch for a shape that no device has.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
partly: scaled_scores
outcomes: failed, error
"""

right = scaled_scores


def scaled_scores(query, key):
    if query.is_cuda:
        query.reshape(3, 99999)
    return right(query, key)
