"""Returns tensors with far more numbers than a message can hold.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""


def scaled_scores(query, key):
    return torch.ones(2**25)
