"""Float64 arithmetic that several suites compute expected values with: slow, plain, checked."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def softmax64(scores: Tensor, dim: int = -1) -> Tensor:
    """Weights over `dim`; a slice that is all minus infinity gives zeros."""
    closed = torch.isneginf(scores)
    if not scores.numel():
        return scores * 1.0
    top = scores.detach().amax(dim, keepdim=True).clamp_min(-1e300)
    shifted = torch.where(closed, torch.zeros_like(scores), scores - top)
    powers = torch.where(closed, torch.zeros_like(scores), shifted.exp())
    whole = powers.sum(dim, keepdim=True)
    return powers / torch.where(whole > 0, whole, torch.ones_like(whole))


def weights64(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    """Masked, scaled dot-product weights, one sum of products at a time."""
    scores = torch.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, -torch.inf))
    return softmax64(scores)


def attention64(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Weights times values."""
    return torch.einsum("...qk,...kv->...qv", weights64(query, key, mask), value)


def heads64(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    """Attention head by head on blocks of features, laid side by side again."""
    parts = [tensor.chunk(n_heads, -1) for tensor in (query, key, value)]
    return torch.cat([attention64(q, k, v, mask) for q, k, v in zip(*parts, strict=True)], -1)


def turned64(x: Tensor, begin: int = 0) -> Tensor:
    """Turn neighbouring features as vectors of two, by angles that float32 has rounded."""
    n, d = x.shape[-2:]
    rates = torch.tensor([math.exp(-2 * i / d * math.log(10000)) for i in range(d // 2)])
    angles = torch.arange(begin, begin + n)[:, None] * rates
    cos, sin = angles.double().cos(), angles.double().sin()
    # not as complex numbers: not every device that has float64 can conjugate them
    turns = torch.stack((cos, -sin, sin, cos), -1).unflatten(-1, (2, 2)).to(x.device, x.dtype)
    return torch.einsum("nfij,...nfj->...nfi", turns, x.unflatten(-1, (-1, 2))).flatten(-2)
