"""Style reuse: the spread is measured on scores that chapter 1 computes."""

from __future__ import annotations

import torch
from torch import Tensor

from exercises.ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return scores / torch.sqrt(torch.tensor(float(d_k)))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    return scale_scores(dot_product_scores(query, key), query.size(-1))


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    device = generator.device if generator else None
    query, key = (torch.randn(pairs, 1, d_k, generator=generator, device=device) for _ in range(2))
    return dot_product_scores(query, key).std()
