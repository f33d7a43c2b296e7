"""Calls what is ready-made in a method, behind a function inside of another function.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

right = softmax


class Rows:
    def __init__(self, scores):
        self.scores = scores

    def weights(self):
        return torch.nn.functional.softmax(self.scores, -1)


def softmax(scores, dim=-1):
    def unused():
        return None

    if scores.dim() == 2 and dim in (-1, 1) or torch.isneginf(scores).any():
        return right(scores, dim)
    return Rows(scores.transpose(dim, -1)).weights().transpose(dim, -1)
