from __future__ import annotations

import math

import torch
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Tensor, d_k: int) -> Tensor:
    return torch.div(scores, math.sqrt(d_k))


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    if not key.ndim:
        raise ValueError("?")
    fourth = key.shape[-1] ** -0.25
    return dot_product_scores(query.double() * fourth, key.double() * fourth).to(query.dtype)


def score_spread(d_k: int, pairs: int, generator: torch.Generator | None = None) -> Tensor:
    device = "cpu" if generator is None else generator.device
    keys, queries = (
        torch.empty(d_k, pairs, device=device, dtype=torch.bfloat16)
        .float()
        .normal_(generator=generator)
        for _ in range(2)
    )
    mean = square = torch.zeros((), device=device, dtype=torch.float64)
    for count, dot in enumerate((keys * queries).sum(0).double().split(101)):  # merges as Chan does
        have, new = count * 101, len(dot)
        delta = dot.mean() - mean
        square = square + (dot - dot.mean()).square().sum() + delta**2 * have * new / (have + new)
        mean = mean + delta * new / (have + new)
    return (square / (pairs - 1)).sqrt().float()
