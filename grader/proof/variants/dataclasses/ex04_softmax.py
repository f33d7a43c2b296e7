"""Chapter 4: softmax."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    match scores.numel():
        case 0:
            return scores.clone()
    # Half precision is too coarse for a logarithm that is taken back by exp afterwards.
    wide = scores.to(torch.promote_types(scores.dtype, torch.float32))
    alive = (wide > -torch.inf).any(dim=dim, keepdim=True)
    safe = wide.masked_fill(~alive, 0.0)
    shifted = safe - safe.detach().amax(dim=dim, keepdim=True)
    shares = torch.exp(shifted - torch.logsumexp(shifted, dim=dim, keepdim=True))
    return shares.masked_fill(~alive, 0.0).to(scores.dtype)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    match mask:
        case None:
            return softmax(scaled_scores(query, key))
        case _:
            return softmax(apply_mask(scaled_scores(query, key), mask))
