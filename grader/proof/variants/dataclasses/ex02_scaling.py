"""Chapter 2: scaling."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    return scores.div(math.sqrt(d_k))


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    scores = dot_product_scores(query, key)
    match key.shape:
        case (*_, d_k):
            return scale_scores(scores, d_k)


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    device = None if generator is None else generator.device
    normal = functools.partial(torch.randn, generator=generator, device=device)

    def portions(size: int = 4096) -> Iterator[Tensor]:
        for start in range(0, pairs, size):
            count = min(size, pairs - start)
            queries, keys = normal(count, d_k), normal(count, d_k)
            yield (queries * keys).sum(dim=1)

    found = torch.cat(list(portions()))
    return (found - found.mean()).square().mean().sqrt()
