"""Style library: whatever torch has for it, torch.linalg and torch.nn.functional above all."""

from __future__ import annotations

from typing import NoReturn

import torch
from torch import Tensor
from torch.nn import functional


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    match a.shape, b.shape:
        case (m,), (n,) if m == n:
            return torch.linalg.vecdot(a, b)
        case _:
            misfit("a . b", a, b)


def naive_scores(tokens: Tensor) -> Tensor:
    if tokens.ndim < 2:
        misfit("X X^T", tokens)
    return torch.inner(tokens, tokens) if tokens.ndim == 2 else tokens.matmul(tokens.mH)


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.ndim != 2 or x.ndim < 2 or x.shape[-1] != weight.shape[0]:
        misfit("X W", x, weight)
    if bias is None:
        return functional.linear(x, weight.T)
    if bias.ndim != 1 or bias.shape[0] != weight.shape[1]:
        misfit("X W + b", x, weight, bias)
    flat = torch.addmm(bias, x.flatten(0, -2), weight)
    return flat.unflatten(0, x.shape[:-1]) if x.ndim > 2 else flat


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.ndim != 2 or x.ndim < 2 or x.shape[-1] != weight.shape[1]:
        misfit("X W^T", x, weight)
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != weight.shape[0]):
        misfit("X W^T + b", x, weight, bias)
    return functional.linear(x, weight, bias)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.ndim != 2 or x.ndim < 2 or x.shape[-2] != weight.shape[1]:
        misfit("W X", weight, x)
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != weight.shape[0]):
        misfit("W X + b", weight, x, bias)
    if x.shape[-1] == 0:
        # which conv1d refuses
        out = torch.matmul(weight, x)
        return out if bias is None else out + bias.unsqueeze(-1)
    # a matrix that slides over the columns is a convolution of width 1
    columns = x.flatten(0, -3) if x.ndim > 3 else x
    out = functional.conv1d(columns, weight.unsqueeze(-1), bias)
    return out.unflatten(0, x.shape[:-2]) if x.ndim > 3 else out


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    if query.ndim < 2 or key.ndim < 2:
        misfit("Q K^T", query, key)
    *batch_q, _, d_q = query.shape
    *batch_k, _, d_k = key.shape
    if batch_q != batch_k or d_q != d_k:
        misfit("Q K^T", query, key)
    return torch.linalg.matmul(query, key.adjoint())


def misfit(formula: str, *tensors: Tensor) -> NoReturn:
    """Raise the chapter's one error."""
    sizes = " and ".join(f"{tuple(tensor.shape)}" for tensor in tensors)
    raise ValueError(f"{formula} is not defined for sizes {sizes}")
