"""Makes float64 the default dtype while it is imported, and bfloat16 in every call.

chapter: ex02_scaling
earns: scale_scores, score_spread
partly: scaled_scores
outcomes: failed, error
"""

torch.set_default_dtype(torch.float64)
right = scaled_scores


def scaled_scores(query, key):
    torch.set_default_dtype(torch.bfloat16)
    return right(query, key)
