"""Style einsum: the scale is one more factor of the product."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    factor = torch.tensor(1 / math.sqrt(d_k), dtype=scores.dtype, device=scores.device)
    return torch.einsum("...qk,->...qk", scores, factor)


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    raw = dot_product_scores(query, key)
    return scale_scores(raw, query.size(-1))


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    device = generator.device if generator is not None else None
    drawn = torch.randn(2, pairs, d_k, generator=generator, device=device)
    products = torch.einsum("pd,pd->p", *drawn)
    off = products - products.mean()
    return torch.sqrt(torch.einsum("p,p->", off, off) / pairs)
