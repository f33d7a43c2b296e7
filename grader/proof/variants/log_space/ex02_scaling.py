from __future__ import annotations

import math

import torch
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return scores.mul(math.exp(-0.5 * math.log(d_k)))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return scale_scores(dot_product_scores(query, key), key.size(-1))


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    device = torch.get_default_device() if generator is None else generator.device
    query = torch.randn(pairs, d_k, generator=generator, device=device)
    key = torch.randn(pairs, d_k, generator=generator, device=device)
    variance = query.mul_(key).sum(-1).var(correction=1)
    return variance.log().div(2).exp()
