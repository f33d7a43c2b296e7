"""Chapter 4 for people who think in arrays: log-sum-exp."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """exp(s - m - log sum exp(s - m)), and m a number even where there is none."""
    if scores.numel() == 0:
        return torch.exp(scores)
    narrow = scores.dtype in (torch.float16, torch.bfloat16)
    s = torch.atleast_1d(scores.float() if narrow else scores)
    m = torch.nan_to_num(s.detach(), nan=0.0, neginf=torch.finfo(s.dtype).min).amax(dim=dim, keepdim=True)
    s = s - m
    total = s.exp().sum(dim=dim, keepdim=True)
    log_total = torch.where(total > 0, total, torch.ones_like(total)).log()
    return (s - log_total).exp().to(scores.dtype).reshape(scores.shape)


def attention_weights(query: Tensor, key: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    """Over the last axis."""
    steps = [lambda _: scaled_scores(query, key)]
    if mask is not None:
        steps.append(lambda s: apply_mask(s, mask))
    steps.append(softmax)
    state = None
    for step in steps:
        state = step(state)
    return state
