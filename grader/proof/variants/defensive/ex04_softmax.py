from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import require_floats, require_mask
from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    require_floats(scores)
    if not -max(scores.ndim, 1) <= dim < max(scores.ndim, 1):
        raise IndexError(f"no dimension {dim} in scores of shape {tuple(scores.shape)}")
    if 0 in scores.shape:
        return scores.clone(memory_format=torch.contiguous_format)
    narrow = torch.finfo(scores.dtype).bits < 32
    wide = scores.to(torch.float32) if narrow else scores
    seen = torch.ne(wide, -float("inf"))
    anything = seen.any(dim, keepdim=True)
    # Three safe steps: nothing infinite enters exp, nothing is divided by zero, and what must be
    # zero is made zero in so many words.
    finite = wide.masked_fill(~seen, 0.0)
    with torch.no_grad():
        top = wide.amax(dim, keepdim=True).masked_fill(~anything, 0.0)
    exponential = torch.where(seen, finite - top, 0.0).exp() * seen
    total = exponential.sum(dim, keepdim=True)
    weights = exponential / torch.where(anything, total, torch.ones_like(total))
    return weights.to(scores.dtype)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    if mask is not None:
        require_mask(mask, scores.shape)
        scores = apply_mask(scores, mask)
    return softmax(scores, dim=-1)
