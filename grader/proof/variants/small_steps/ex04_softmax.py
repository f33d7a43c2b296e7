from __future__ import annotations

import torch
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    if scores.numel() == 0:
        return scores.clone()

    # float16 and bfloat16 are too coarse for sums
    original_dtype = scores.dtype
    if original_dtype == torch.float16 or original_dtype == torch.bfloat16:
        scores = scores.float()

    # the largest score of each slice becomes 0
    largest = torch.amax(scores, dim=dim, keepdim=True)
    largest = largest.detach()
    all_masked = largest == -torch.inf
    largest = largest.masked_fill(all_masked, 0.0)
    shifted = scores - largest

    exps = torch.exp(shifted)
    sums = torch.sum(exps, dim=dim, keepdim=True)
    sums = sums.masked_fill(all_masked, 1.0)
    weights = exps / sums
    return weights.to(original_dtype)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    weights = softmax(scores, dim=-1)
    return weights
