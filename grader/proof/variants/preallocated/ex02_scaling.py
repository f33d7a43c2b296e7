from __future__ import annotations

import math

import torch
from torch import Tensor

from ex01_scores import dot_product_scores

_ROOM = 1 << 20  # numbers that may lie about at once


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return scores.clone().div_(math.sqrt(d_k))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    # the scores are ours, nobody else holds them: in place
    return dot_product_scores(query, key).div_(math.sqrt(query.size(-1)))


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    device = None if generator is None else generator.device
    rows = min(pairs, max(1, _ROOM // d_k))
    query = torch.empty(rows, d_k, dtype=torch.float32, device=device)
    key = torch.empty_like(query)
    dots = torch.empty(pairs, dtype=torch.float32, device=device)
    for start in range(0, pairs, rows):
        part = dots[start : start + rows]
        q = query[: len(part)].normal_(generator=generator)
        k = key[: len(part)].normal_(generator=generator)
        torch.sum(q.mul_(k), dim=1, out=part)
    return dots.std()
