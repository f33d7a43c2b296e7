from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import refuse, require_floats, require_mask, require_tensors, whole


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    n = whole(n, "n", 0)
    return torch.ones((n, n), dtype=torch.bool, device=device).tril()


def require_lengths(lengths: Tensor, n: int) -> Tensor:
    require_tensors(lengths)
    if lengths.dtype.is_floating_point or lengths.dtype.is_complex or lengths.dtype is torch.bool:
        raise TypeError(f"`lengths` must be whole numbers, got {lengths.dtype}")
    if lengths.ndim != 1:
        refuse(f"`lengths` must be a vector, for n={n} positions", lengths=lengths, n=n)
    return lengths.to(torch.long)


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    n = whole(n, "n", 0)
    counts = require_lengths(lengths, n)
    places = torch.arange(n, dtype=torch.long, device=lengths.device)
    return torch.gt(counts.unsqueeze(-1), places.unsqueeze(0))


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    n = whole(n, "n", 0)
    require_lengths(lengths, n)
    return causal_mask(n, device=lengths.device).unsqueeze(0) & padding_mask(lengths, n).unsqueeze(
        1
    )


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    require_floats(scores)
    require_mask(mask, scores.shape)
    if mask.shape != scores.shape:
        mask = torch.broadcast_to(mask, scores.shape)
    return torch.masked_fill(scores, torch.bitwise_not(mask), -float("inf"))
