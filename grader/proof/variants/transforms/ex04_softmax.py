"""Softmax, as a JAX user would: it is the gradient of log-sum-exp."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.func import grad, vmap

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def _log_sum_exp(row: Tensor) -> Tensor:
    """Of a row whose largest entry is 0, or whose entries are all minus infinity."""
    total = torch.exp(row).sum()
    return torch.log(torch.where(total > 0, total, torch.ones_like(total)))


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    if 0 in scores.shape:
        return scores + 0
    wide = scores.float() if scores.element_size() < 4 else scores
    top = wide.detach().amax(dim, keepdim=True)
    shifted = wide - torch.where(torch.isinf(top), torch.zeros_like(top), top)
    rows = shifted.movedim(dim, -1)
    weights = vmap(grad(_log_sum_exp))(rows.reshape(-1, rows.shape[-1]))
    return weights.reshape(rows.shape).movedim(-1, dim).to(scores.dtype)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    scores = scaled_scores(query, key)
    return softmax(scores) if mask is None else softmax(apply_mask(scores, mask))
