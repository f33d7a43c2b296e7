"""Chapter 3 for people who think in arrays: count along, compare."""

from __future__ import annotations

from functools import lru_cache
from typing import Optional, Union

import torch
from torch import Tensor


@lru_cache(maxsize=4)
def _triangle(n: int) -> Tensor:
    """Kept here, on the CPU, and never handed out: what callers get is a copy."""
    with torch.inference_mode(False):
        return torch.eye(n, dtype=torch.int64, device="cpu").cumsum(0).ne(0)


def causal_mask(n: int, device: Union[torch.device, str, None] = None) -> Tensor:
    """np.tri"""
    where = torch.get_default_device() if device is None else torch.device(device)
    return _triangle(n).to(where, copy=True)


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    """Count 1, 2, 3, ... up to the length."""
    if lengths.ndim != 1:
        raise ValueError(f"lengths.ndim == {lengths.ndim} (shape {tuple(lengths.shape)}), wanted 1")
    counts = torch.ones(lengths.shape[0], n, dtype=torch.int64, device=lengths.device).cumsum(1)
    return torch.less_equal(counts, lengths.to(torch.int64).reshape(-1, 1))


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    """j < min(i + 1, length), in one comparison."""
    if lengths.ndim != 1:
        raise ValueError(f"lengths should be flat, but lie in {lengths.ndim} dimensions {tuple(lengths.shape)}")
    place = torch.arange(n, device=lengths.device)
    reach = torch.minimum(place[None, :] + 1, lengths.to(torch.int64)[:, None])
    return place < reach[:, :, None]


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    """np.where"""
    pairs = zip(reversed(mask.shape), reversed(scores.shape))
    if mask.ndim > scores.ndim or any(small not in (1, large) for small, large in pairs):
        raise ValueError(f"could not broadcast mask of shape {tuple(mask.shape)} into shape {tuple(scores.shape)}")
    return torch.where(mask, scores, torch.full((), -torch.inf, dtype=scores.dtype, device=scores.device))
