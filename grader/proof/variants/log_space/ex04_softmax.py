from __future__ import annotations

import torch
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask

NOTHING = torch.finfo(torch.float64).min / 4  # as good as -inf, but differences stay finite
FLOOR = -1e4  # exp(FLOOR) is 0 too, and next to it NOTHING is nothing


def log_weights(scores: Tensor, dim: int) -> Tensor:
    """The logarithm of the weights, in float64, and NOTHING for a weight of 0."""
    logits = scores.double()
    top = logits.detach().amax(dim, keepdim=True).nan_to_num(neginf=0.0)
    logits = logits - top
    logits = torch.where(logits.isneginf(), NOTHING, logits)
    log_total = logits.logsumexp(dim, keepdim=True)
    # A slice with anything in it has log_total >= 0, and the floor is lost in it.
    return logits - torch.logaddexp(log_total, torch.full_like(log_total, FLOOR))


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    if scores.numel() == 0:
        return scores.exp()
    return log_weights(scores, dim).exp().to(scores.dtype)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    return softmax(scores)
