"""Works on the CPU only: elsewhere it raises an error that no GPU has to do with.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
partly: scaled_scores
outcomes: failed, error
"""

right = scaled_scores


def scaled_scores(query, key):
    if query.device.type != "cpu":
        raise MemoryError("not here")
    return right(query, key)
