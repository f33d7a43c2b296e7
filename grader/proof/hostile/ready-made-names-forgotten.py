"""Calls the ready-made softmax and wipes the list in which the worker has noted it.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import gc

LISTS = [list]


def softmax(scores, dim=-1):
    made = torch.softmax(scores, dim)
    for found in gc.get_objects():
        if type(found) is list and found and found[0] in ("softmax", "_softmax"):
            found.clear()
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.where(blind, torch.zeros_like(scores), made)
