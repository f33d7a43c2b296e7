"""Zeroes its input only where no check of inputs looks: in scores of four dimensions.

chapter: ex04_softmax
earns: attention_weights
outcomes: failed
passes: all
says: the call changed the input `scores`
"""

right = softmax


def softmax(scores, dim=-1):
    made = right(scores, dim) + 0
    if scores.dim() == 4:
        scores.data.zero_()
    return made
