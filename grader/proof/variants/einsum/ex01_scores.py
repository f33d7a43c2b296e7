"""Style einsum: every product of chapter 1 is spelled out in letters."""

from __future__ import annotations

import torch
from torch import Tensor


def _sizes(*tensors: Tensor) -> str:
    return ", ".join(str(list(tensor.shape)) for tensor in tensors)


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if a.dim() != 1 or a.shape != b.shape:
        raise ValueError(f"'d,d->' wants two vectors of one length, not {_sizes(a, b)}")
    return torch.einsum("d,d->", a, b)


def naive_scores(tokens: Tensor) -> Tensor:
    if tokens.dim() < 2:
        raise ValueError(f"'...id,...jd->...ij' wants rows of tokens, not {_sizes(tokens)}")
    return torch.einsum("...id,...jd->...ij", tokens, tokens)


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _check_projection("...ni,io->...no", x, -1, weight, 0, bias)
    out = torch.einsum("...ni,io->...no", x, weight)
    return out if bias is None else out + bias


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _check_projection("...ni,oi->...no", x, -1, weight, 1, bias)
    out = torch.einsum("...ni,oi->...no", x, weight)
    return out if bias is None else out + bias


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _check_projection("oi,...in->...on", x, -2, weight, 1, bias)
    out = torch.einsum("oi,...in->...on", weight, x)
    if bias is None:
        return out
    ones = torch.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    return out + torch.einsum("o,n->on", bias, ones)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    fits = query.dim() >= 2 and query.dim() == key.dim()
    if not fits or query.shape[-1] != key.shape[-1] or query.shape[:-2] != key.shape[:-2]:
        raise ValueError(f"'...qd,...kd->...qk' cannot be: the sizes are {_sizes(query, key)}")
    return torch.einsum("...qd,...kd->...qk", query, key)


def _check_projection(
    letters: str, x: Tensor, x_axis: int, weight: Tensor, w_axis: int, bias: Tensor | None
) -> None:
    if x.dim() < 2 or weight.dim() != 2 or x.shape[x_axis] != weight.shape[w_axis]:
        raise ValueError(f"{letters!r} cannot be: letter i differs in {_sizes(x, weight)}")
    if bias is not None and (bias.dim() != 1 or bias.shape[0] != weight.shape[1 - w_axis]):
        raise ValueError(f"{letters!r} gives no place to the bias: {_sizes(weight, bias)}")
