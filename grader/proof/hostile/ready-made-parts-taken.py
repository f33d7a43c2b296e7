"""Takes PyTorch's softmax apart into its own steps, or its kernel out of the library.

chapter: ex04_softmax
earns: nothing
outcomes: forbidden, failed, error
passes: all
"""

import torch._decomp.decompositions as parts

steps = getattr(parts, "_soft" + "max")


def softmax(scores, dim=-1):
    if scores.numel() == 0:
        return scores.clone()
    blind = torch.isneginf(scores).all(dim, keepdim=True)
    return steps(scores.masked_fill(blind, 0), dim, False).masked_fill(blind, 0)
