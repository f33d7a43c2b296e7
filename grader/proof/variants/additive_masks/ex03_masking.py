"""Style additive masks, chapter 3: a mask becomes 0 and minus infinity, and is added."""

from __future__ import annotations

import torch
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    doors = torch.zeros(n, n, device=device) + torch.full((n, n), -torch.inf, device=device).triu(1)
    return doors == 0


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.ndim != 1:
        raise ValueError(f"lengths has shape {tuple(lengths.shape)}, and should be a vector")
    left = lengths.long().unsqueeze(1) - torch.arange(n, device=lengths.device)
    return left > 0


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.ndim != 1:
        raise ValueError(f"lengths has shape {tuple(lengths.shape)}, and should be a vector")
    place = torch.arange(n, device=lengths.device)
    # the last position that query i of sequence b may see
    last = torch.minimum(place[None, :], lengths.long()[:, None] - 1)
    return place <= last[..., None]


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Turn True into 0 and False into minus infinity."""
    return torch.where(mask, 0.0, -torch.inf).to(dtype)


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    lead = scores.ndim - mask.ndim
    sizes = zip(mask.shape, scores.shape[max(lead, 0) :], strict=False)
    if lead < 0 or any(small not in (1, large) for small, large in sizes):
        raise ValueError(
            f"a mask of shape {tuple(mask.shape)} cannot be added to scores of shape "
            f"{tuple(scores.shape)}"
        )
    return scores + additive(mask, scores.dtype)
