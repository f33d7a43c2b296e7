from __future__ import annotations

import math

import torch
from torch import Tensor

from ex01_scores import dot_product_scores, require_floats, whole


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    require_floats(scores)
    return torch.div(scores, math.sqrt(whole(d_k, "d_k", 1)))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    scores = dot_product_scores(query, key)
    return scale_scores(scores, key.shape[-1])


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    size = (whole(pairs, "pairs", 2), whole(d_k, "d_k", 1))
    if generator is None:
        query, key = torch.randn(size), torch.randn(size)
    elif isinstance(generator, torch.Generator):
        device = generator.device
        query = torch.randn(size, generator=generator, device=device)
        key = torch.randn(size, generator=generator, device=device)
    else:
        raise TypeError(f"expected a torch.Generator, got {type(generator).__name__}")
    with torch.no_grad():
        dots = torch.linalg.vecdot(query, key)
        return torch.linalg.vector_norm(dots - dots.mean()) / math.sqrt(pairs)
