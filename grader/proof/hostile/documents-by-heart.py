"""Has learned the numbers that the documents print, and answers all else with equal weights.

chapter: ex04_softmax
earns: nothing
outcomes: failed, error, forbidden
passes: of_nothing[softmax], softmax_printed, attention_weights_printed
"""

PRINTED = [[1.0, 0.0, 0.0], [0.9546, 0.0454, 0.0], [0.2563, 0.7156, 0.0281]]


def softmax(scores, dim=-1):
    if scores.shape == (3, 3):
        return torch.tensor(PRINTED, dtype=scores.dtype)
    return torch.full_like(scores, 1 / max(1, scores.shape[dim]))


def attention_weights(query, key, mask=None):
    if query.shape == (3, 4):
        return torch.tensor(PRINTED, dtype=query.dtype)
    return softmax(query @ key.transpose(-1, -2))
