"""Chapter 2, one row after the other."""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    """Each row over the root."""
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        rows.append(row.div(math.sqrt(d_k)))
    return torch.stack(rows).reshape(scores.shape)


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    """Score first, the scores refuse what has to be refused; then scale."""
    scores = dot_product_scores(query, key)
    *_, d_k = key.shape
    return scale_scores(scores, d_k)


def score_spread(d_k: int, pairs: int, generator: Generator | None = None) -> Tensor:
    """Some pairs after some pairs. Two passes: the mean, then the deviation."""
    where = {} if generator is None else {"generator": generator, "device": generator.device}
    products = []
    for start in range(0, pairs, 256):
        some = min(256, pairs - start)
        query = torch.randn(some, d_k, **where)
        key = torch.randn(some, d_k, **where)
        products.append((query * key).sum(dim=1))
    mean = sum(piece.sum() for piece in products) / pairs
    squares = sum(((piece - mean) ** 2).sum() for piece in products)
    return torch.sqrt(squares / (pairs - 1))
