"""Works on the CPU only: elsewhere it has torch's own check raise.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
partly: scaled_scores
outcomes: failed, error
"""

right = scaled_scores


def scaled_scores(query, key):
    if query.is_cuda:
        torch._check(False, lambda: "not here")
    return right(query, key)
