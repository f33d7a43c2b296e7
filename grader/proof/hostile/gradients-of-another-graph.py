"""Says that its output wants gradients, and hangs it into a graph of the call before.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
passes: all
"""

before = []
right = scaled_scores


def scaled_scores(query, key):
    made = right(query, key)
    before.append(made)
    if made.requires_grad:
        return made.detach().requires_grad_() + 0 * before[0].sum()
    return made
