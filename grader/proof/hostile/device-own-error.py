"""Works on the CPU only: elsewhere a line of its own fails, without any `raise`.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
partly: scaled_scores
outcomes: failed, error
"""

right = scaled_scores


def scaled_scores(query, key):
    if query.is_cuda:
        {}["x"]
    return right(query, key)
