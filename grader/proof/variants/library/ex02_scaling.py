"""Style library: rsqrt, std_mean and torch.normal."""

from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return scores * torch.rsqrt(scores.new_tensor(d_k))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    *_, d_k = key.shape
    return scale_scores(dot_product_scores(query, key), d_k)


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    device = None if generator is None else generator.device
    mean = torch.zeros(pairs, d_k, device=device)
    query = torch.normal(mean, 1.0, generator=generator)
    key = torch.normal(mean, 1.0, generator=generator)
    spread, _ = torch.std_mean(torch.linalg.vecdot(query, key, dim=1))
    return spread
