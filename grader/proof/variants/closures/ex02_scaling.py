"""Chapter 2 for people who think in arrays: the root rides along as alpha."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

_ROOTS: dict[int, float] = {}


def _root(d_k: int) -> float:
    """Numbers only, so there is nothing in here that anybody could change."""
    if d_k not in _ROOTS:
        _ROOTS[d_k] = d_k**0.5
    return _ROOTS[d_k]


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    """np.true_divide"""
    return torch.true_divide(scores, _root(d_k))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    """alpha Q K^T in one go."""
    if query.ndim < 2 or key.ndim < 2:
        raise ValueError(f"ndim of query and key: {query.ndim} and {key.ndim}, shapes {tuple(query.shape)}, {tuple(key.shape)}")
    (*lead, q, width), (*other, k, d_k) = query.shape, key.shape
    if width != d_k:
        raise ValueError(f"queries {width} wide cannot meet keys {d_k} wide")
    if lead != other:
        raise ValueError(f"a batch {tuple(lead)} of queries cannot meet a batch {tuple(other)} of keys")
    left, right = query.reshape(-1, q, d_k), key.reshape(-1, k, d_k)
    out = torch.baddbmm(left.new_zeros(1, 1, 1), left, right.swapaxes(1, 2), beta=0, alpha=1 / _root(d_k))
    return out.reshape(*lead, q, k)


def score_spread(d_k: int, pairs: int, generator: Optional[torch.Generator] = None) -> Tensor:
    """sqrt(E[s^2] - E[s]^2), dividing by pairs; in double, where that is safe."""
    device = None if generator is None else generator.device
    draws = torch.empty(pairs, 2 * d_k, device=device).normal_(generator=generator)
    query, key = torch.hsplit(draws, 2)
    products = torch.linalg.vecdot(query, key).to(torch.float64)
    return products.square().mean().sub(products.mean().square()).clamp_min(0).sqrt().to(draws.dtype)
