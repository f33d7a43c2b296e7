"""Style additive masks, chapter 4: weights are exp of scores less their logsumexp."""

from __future__ import annotations

import torch
from torch import Tensor

from .ex02_scaling import scaled_scores
from .ex03_masking import apply_mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    if scores.numel() == 0:
        return scores.clone()
    blind = (scores == -torch.inf).all(dim, keepdim=True)
    seen = torch.where(blind, 0.0, scores)
    # shifted first: logsumexp alone is too coarse at 1e4
    shifted = seen - seen.detach().amax(dim, keepdim=True)
    log_weights = shifted - torch.logsumexp(shifted, dim, keepdim=True)
    return torch.where(blind, 0.0, log_weights.exp())


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    if mask is None:
        mask = torch.ones((), dtype=torch.bool, device=scores.device)
    return softmax(apply_mask(scores, mask), dim=-1)
