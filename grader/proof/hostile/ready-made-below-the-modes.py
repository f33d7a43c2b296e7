"""Switches the modes off that would notice it, and calls the ready-made softmax below them.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

from torch.utils._python_dispatch import _disable_current_modes


def softmax(scores, dim=-1):
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        made = torch.ops.aten._softmax.default(scores, dim, False)
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return torch.where(blind, torch.zeros_like(scores), made)
