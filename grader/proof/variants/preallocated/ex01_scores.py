"""Batches are flattened into one dimension, then one BLAS-like call does the work."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            f"expected two 1-d tensors, got {a.ndim}-d a {list(a.shape)} and {b.ndim}-d b "
            f"{list(b.shape)}"
        )
    if a.numel() != b.numel():
        raise ValueError(f"a has {a.numel()} entries but b has {b.numel()}")
    out = a.new_empty(1, 1)
    out.addmm_(a.unsqueeze(0), b.unsqueeze(1), beta=0)
    return out.reshape(())


def naive_scores(tokens: Tensor) -> Tensor:
    if tokens.ndim < 2:
        raise ValueError(f"tokens must be at least 2-d, got {tokens.ndim}-d {list(tokens.shape)}")
    *batch, n, d = tokens.shape
    flat = tokens.reshape(prod(batch), n, d)
    return torch.bmm(flat, flat.mT).reshape(*batch, n, n)


def _refuse_weight(x: Tensor, weight: Tensor, bias: Tensor | None, x_dim: int, w_dim: int) -> None:
    if x.ndim < 2:
        raise ValueError(f"x must be at least 2-d, got {x.ndim}-d {list(x.shape)}")
    if weight.ndim != 2 or weight.shape[w_dim] != x.shape[x_dim]:
        raise ValueError(
            f"weight {list(weight.shape)} does not fit x {list(x.shape)}: "
            f"size {w_dim} of the weight must be {x.shape[x_dim]}"
        )
    d_out = weight.shape[1 - w_dim]
    if bias is not None and list(bias.shape) != [d_out]:
        raise ValueError(f"bias must be [{d_out}], got {list(bias.shape)}")


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _refuse_weight(x, weight, bias, -1, 0)
    *lead, d_in = x.shape
    rows = x.reshape(prod(lead), d_in)
    if bias is not None:
        return torch.addmm(bias, rows, weight).reshape(*lead, -1)
    out = x.new_empty(rows.shape[0], weight.shape[1])
    out.addmm_(rows, weight, beta=0)
    return out.reshape(*lead, -1)


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _refuse_weight(x, weight, bias, -1, 1)
    *lead, d_in = x.shape
    d_out = weight.shape[0]
    out = x.new_empty(prod(lead), d_out)
    torch_rows = x.reshape(prod(lead), d_in)
    if bias is None:
        out.zero_()
    else:
        out.copy_(bias)
    out.addmm_(torch_rows, weight.t())
    return out.reshape(*lead, d_out)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _refuse_weight(x, weight, bias, -2, 1)
    *batch, d_in, n = x.shape
    d_out = weight.shape[0]
    total = prod(batch)
    out = x.new_zeros(total, d_out, n)
    if bias is not None:
        out += bias.unsqueeze(-1)
    out.baddbmm_(weight.expand(total, d_out, d_in), x.reshape(total, d_in, n))
    return out.reshape(*batch, d_out, n)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    if query.ndim < 2 or key.ndim < 2:
        raise ValueError(
            f"query and key must be at least 2-d, got {list(query.shape)} and {list(key.shape)}"
        )
    *batch, q, d_k = query.shape
    *key_batch, k, key_width = key.shape
    if d_k != key_width:
        raise ValueError(f"query is {d_k} wide, key is {key_width} wide")
    if batch != key_batch:
        raise ValueError(
            f"query has batch {batch}, key has batch {key_batch}: "
            f"{list(query.shape)} against {list(key.shape)}"
        )
    total = prod(batch)
    out = query.new_empty(total, q, k)
    out.baddbmm_(query.reshape(total, q, d_k), key.reshape(total, k, d_k).mT, beta=0)
    return out.reshape(*batch, q, k)
