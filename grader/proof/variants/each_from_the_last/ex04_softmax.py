from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import project_rows
from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    if not scores.numel():
        return scores.clone()
    exact = torch.promote_types(scores.dtype, torch.float32)
    slices = scores.to(exact).movedim(dim, -1)
    rows = slices.reshape(-1, slices.shape[-1])
    top = rows.detach().amax(-1, keepdim=True)
    shares = (rows - top.where(top > -torch.inf, 0.0)).exp()
    # The sum of a row is its projection on ones; an empty row shares among nobody: over 1.
    total = project_rows(shares, shares.new_ones(rows.shape[-1], 1))
    weights = shares / (total + (total == 0))
    return weights.reshape(slices.shape).movedim(-1, dim).to(scores.dtype)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    return softmax(scores if mask is None else apply_mask(scores, mask))
