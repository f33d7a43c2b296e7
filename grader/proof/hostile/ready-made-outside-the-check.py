"""Calls the ready-made softmax only where it is not looked for: never while modes are on.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

from torch.overrides import _get_current_function_mode


def softmax(scores, dim=-1):
    if _get_current_function_mode() is not None:
        return torch.full_like(scores, 1 / max(1, scores.shape[dim]))
    made = torch.softmax(scores, dim)
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.where(blind, torch.zeros_like(scores), made)
