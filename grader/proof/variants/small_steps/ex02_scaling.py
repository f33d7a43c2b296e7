from __future__ import annotations

import math

import torch
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    divisor = math.sqrt(d_k)
    scaled = scores / divisor
    return scaled


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    scores = dot_product_scores(query, key)
    d_k = key.size(-1)
    scaled = scale_scores(scores, d_k)
    return scaled


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    if generator is None:
        queries = torch.randn(pairs, d_k)
        keys = torch.randn(pairs, d_k)
    else:
        queries = torch.randn(pairs, d_k, generator=generator, device=generator.device)
        keys = torch.randn(pairs, d_k, generator=generator, device=generator.device)
    products = queries * keys
    scores = products.sum(dim=1)
    spread = torch.std(scores, unbiased=False)
    return spread
