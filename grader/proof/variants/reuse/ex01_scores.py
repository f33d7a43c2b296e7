"""Style reuse: Q K^T is written once, and everything else in the chapter is made of it."""

from __future__ import annotations

from torch import Tensor


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if a.dim() == 1 and b.dim() == 1 and a.numel() == b.numel():
        return dot_product_scores(a[None, :], b[None, :])[0, 0]
    raise ValueError(f"No dot product of {a.size()} and {b.size()}.")


def naive_scores(tokens: Tensor) -> Tensor:
    return dot_product_scores(tokens, tokens)


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.dim() != 2:
        raise ValueError(f"The weight is {weight.size()}, not a matrix.")
    return project_linear(x, weight.transpose(0, 1), bias)


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() < 2 or weight.dim() != 2 or x.size(-1) != weight.size(1):
        raise ValueError(f"Tokens of {x.size()} do not pass through a weight of {weight.size()}.")
    # each output feature is a "key", and every sequence has the same ones
    out = dot_product_scores(x, weight.expand(*x.size()[:-2], *weight.size()))
    if bias is None:
        return out
    if bias.size() != weight.size()[:1]:
        raise ValueError(f"A bias of {bias.size()} cannot be added to tokens of {out.size()}.")
    return out.add(bias)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() < 2:
        raise ValueError(f"x is {x.size()}: where are the columns?")
    rows = project_linear(x.transpose(-1, -2), weight, bias)
    return rows.transpose(-1, -2)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    *batch, _, d_k = query.size() if query.dim() > 1 else (None, None)
    if query.dim() < 2 or key.dim() < 2 or [*batch, d_k] != [*key.size()[:-2], key.size(-1)]:
        raise ValueError(f"No scores between {query.size()} and {key.size()}.")
    return query.matmul(key.transpose(-1, -2))
