"""Returns a dictionary with a tensor that takes for ever to be written out in a message.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""


def scaled_scores(query, key):
    return {"weights": torch.zeros([4] * 12, dtype=torch.uint8), "more": {"a": query}}
