"""Chapter 3: the triangle from smaller triangles, De Morgan, and a choice by index."""

from __future__ import annotations

import torch

from ex01_scores import fits


def causal_mask(n, device=None):
    """[[C, 0], [1, C]], down to the smallest."""
    if n < 2:
        return torch.ones((n, n), dtype=torch.bool, device=device)
    top = n // 2
    upper, lower = causal_mask(top, device), causal_mask(n - top, device)
    yes = upper.new_ones(n - top, top)
    return torch.cat([torch.cat([upper, ~yes.mT], dim=1), torch.cat([yes, lower], dim=1)])


@fits(lengths="batch")
def padding_mask(lengths, n):
    """What is left of the length at each place."""
    left = lengths.to(torch.long).unsqueeze(1) - torch.arange(n, device=lengths.device)
    return left.sign() == 1


@fits(lengths="batch")
def decoder_mask(lengths, n):
    """not (ahead or padding)"""
    ahead, padding = ~causal_mask(n, lengths.device), ~padding_mask(lengths, n)
    return ~(ahead.unsqueeze(0) | padding.unsqueeze(1))


@fits(scores="*s", mask="<= *s")
def apply_mask(scores, mask):
    """Two layers, minus infinity and the scores; the mask says which one."""
    layers = torch.stack([torch.full_like(scores, float("-inf")), scores])
    return layers.gather(0, mask.expand_as(scores).long().unsqueeze(0)).squeeze(0)
