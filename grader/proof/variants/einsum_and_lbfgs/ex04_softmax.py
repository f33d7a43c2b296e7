"""Softmax, in Einstein's notation."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    if scores.numel() == 0:
        return scores.clone()
    rows = scores.movedim(dim, -1).to(torch.promote_types(scores.dtype, torch.float32))
    top = rows.detach().amax(dim=-1, keepdim=True)
    grown = torch.exp(rows - torch.nan_to_num(top, neginf=0.0))
    total = torch.einsum("...k->...", grown)
    share = torch.where(total == 0, torch.ones_like(total), total).reciprocal()
    weights = torch.einsum("...k,...->...k", grown, share)
    return weights.movedim(-1, dim).to(scores.dtype)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    scores = scaled_scores(query, key)
    return softmax(scores if mask is None else apply_mask(scores, mask))
