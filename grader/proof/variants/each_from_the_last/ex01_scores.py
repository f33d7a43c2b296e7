"""Scores. One product stands below everything: `dot_product_scores`."""

from __future__ import annotations

import torch
from torch import Tensor


def spelled(t: Tensor) -> str:
    return "x".join(map(str, t.shape)) if t.dim() else "a lone number, 0 dimensions"


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if not a.dim() == b.dim() == 1 or len(a) != len(b):
        raise ValueError(f"two vectors of one length, please: a is {spelled(a)}, b is {spelled(b)}")
    return naive_scores(torch.stack((a, b)))[0, 1]


def naive_scores(tokens: Tensor) -> Tensor:
    return dot_product_scores(tokens, tokens)


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    # Every output feature is a "key", and every token a "query" that is scored against it.
    if x.dim() < 2:
        raise ValueError(f"tokens come as a matrix or a batch of them, not as {spelled(x)}")
    if weight.dim() != 2 or len(weight) != x.shape[-1]:
        raise ValueError(
            f"a weight for tokens {x.shape[-1]} wide is a matrix with as many rows, "
            f"this one is {spelled(weight)}"
        )
    features = weight.mT
    if bias is not None:
        if bias.shape != features.shape[:1]:
            raise ValueError(
                f"a bias for {len(features)} features is a vector of as many numbers, "
                f"this one is {spelled(bias)}"
            )
        # The bias is the weight of one more input that is always 1.
        x = torch.cat((x, x.new_ones(x.shape[:-1] + (1,))), -1)
        features = torch.cat((features, bias.unsqueeze(-1)), -1)
    return dot_product_scores(x, features.expand(x.shape[:-2] + features.shape))


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.dim() != 2:
        raise ValueError(f"a weight is a matrix, this one is {spelled(weight)}")
    return project_rows(x, weight.mT, bias)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() < 2:
        raise ValueError(f"tokens come as a matrix or a batch of them, not as {spelled(x)}")
    return project_linear(x.mT, weight, bias).mT


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    sizes = f"query is {spelled(query)}, key is {spelled(key)}"
    if min(query.dim(), key.dim()) < 2:
        raise ValueError(f"less than a matrix cannot be scored: {sizes}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"only vectors of one width can be scored: {sizes}")
    if query.shape[:-2] != key.shape[:-2]:
        raise ValueError(f"each sequence needs its own counterpart: {sizes}")
    return torch.matmul(query, key.mT)
