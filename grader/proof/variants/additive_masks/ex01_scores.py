"""Style additive masks, chapter 1: products written as multiply and sum."""

from __future__ import annotations

import torch
from torch import Tensor


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"a has shape {tuple(a.shape)}, b has {tuple(b.shape)}: not vectors")
    if a.shape != b.shape:
        raise ValueError(f"a has {len(a)} entries and b has {len(b)}")
    return (a * b).sum()


def naive_scores(tokens: Tensor) -> Tensor:
    if tokens.ndim < 2:
        raise ValueError(f"tokens has shape {tuple(tokens.shape)}, without rows and columns")
    return (tokens.unsqueeze(-2) * tokens.unsqueeze(-3)).sum(-1)


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.ndim != 2:
        raise ValueError(f"weight has shape {tuple(weight.shape)}, and should be a matrix")
    return project_linear(x, weight.mT, bias)


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.ndim < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, without rows and columns")
    if weight.ndim != 2:
        raise ValueError(f"weight has shape {tuple(weight.shape)}, and should be a matrix")
    d_out, d_in = weight.shape
    if x.shape[-1] != d_in:
        raise ValueError(f"the tokens have {x.shape[-1]} features, the weight takes {d_in}")
    out = (x.unsqueeze(-2) * weight).sum(-1)
    if bias is not None:
        if bias.ndim != 1 or len(bias) != d_out:
            raise ValueError(f"the bias is {tuple(bias.shape)}, it should be ({d_out},)")
        out = out + bias
    return out


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.ndim < 2 or weight.ndim != 2:
        raise ValueError(f"x has shape {tuple(x.shape)} and weight {tuple(weight.shape)}")
    if x.shape[-2] != weight.shape[1]:
        raise ValueError(f"the tokens have {x.shape[-2]} features, not {weight.shape[1]}")
    out = torch.tensordot(x, weight, dims=([-2], [1])).movedim(-1, -2)
    if bias is not None:
        if bias.shape != (len(weight),):
            raise ValueError(f"the bias is {tuple(bias.shape)}, it should be ({len(weight)},)")
        out = out + bias.unsqueeze(-1)
    return out


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    if min(query.ndim, key.ndim) < 2 or query.ndim != key.ndim:
        raise ValueError(f"query is {tuple(query.shape)}, key is {tuple(key.shape)}: other ranks")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query is {query.shape[-1]} wide, key is {key.shape[-1]} wide")
    if query.shape[:-2] != key.shape[:-2]:
        raise ValueError(
            f"query has the batch {tuple(query.shape[:-2])}, key has {tuple(key.shape[:-2])}"
        )
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1)
