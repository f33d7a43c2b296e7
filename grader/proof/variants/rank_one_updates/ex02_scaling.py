"""Chapter 2. Scaling; the experiment draws its normal numbers after Box and Muller."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return scores.div(math.sqrt(d_k))


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    s = dot_product_scores(query, key)
    return s.div(math.sqrt(key.shape[key.dim() - 1]))


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    device = None if generator is None else generator.device
    total = d_k * pairs
    # Box-Muller: two uniform numbers give two independent normal ones, cosine for the queries
    # and sine for the keys. 1 - u is never 0.
    u = torch.rand(2 * total, generator=generator, device=device, dtype=torch.float32)
    radius = torch.sqrt(-2.0 * torch.log1p(-u[:total]))
    angle = (2.0 * math.pi) * u[total:]
    product = (radius * torch.cos(angle)) * (radius * torch.sin(angle))
    # number l of the product belongs to pair l div d_k
    pair = torch.arange(total, device=u.device) // d_k
    s = torch.zeros(pairs, dtype=u.dtype, device=u.device).index_add(0, pair, product)
    s = s - s.sum() / pairs
    return torch.sqrt((s * s).sum() / (pairs - 1))
