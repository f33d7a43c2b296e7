"""Calls the ready-made softmax by its plain name.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed
passes: all
"""


def softmax(scores, dim=-1):
    made = torch.softmax(scores, dim)
    return torch.where(torch.isneginf(scores).all(dim, keepdim=True), torch.zeros_like(made), made)
