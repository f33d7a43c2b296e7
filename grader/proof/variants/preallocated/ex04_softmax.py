from __future__ import annotations

import torch
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    if scores.numel() == 0:
        return scores.clone()
    half = scores.dtype in (torch.float16, torch.bfloat16)
    work = scores.to(torch.float32 if half else scores.dtype, copy=True)
    top = work.detach().amax(dim, keepdim=True)
    top.masked_fill_(top.isneginf(), 0.0)
    work.sub_(top).exp_()
    # The largest entry became exp(0) = 1, so a sum below 1 is that of an empty slice: 0.
    total = work.sum(dim, keepdim=True).clamp_(min=1.0)
    return (work / total).to(scores.dtype)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return softmax(scores, -1)
