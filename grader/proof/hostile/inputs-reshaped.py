"""Gives its input another shape and dtype in place, hoping that it is what the output is held to.

chapter: ex04_softmax
earns: nothing
outcomes: failed, error, forbidden
passes: refuses[attention_weights
"""


def softmax(scores, dim=-1):
    scores.data = torch.ones(1)
    return torch.ones(1)
