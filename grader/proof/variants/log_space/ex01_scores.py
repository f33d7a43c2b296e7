from __future__ import annotations

import torch
from torch import Tensor


class SizeError(ValueError):
    """Tensors that do not fit each other."""

    def __init__(self, wanted: str, **tensors: Tensor) -> None:
        got = ", ".join(
            f"{name} is {' by '.join(str(s) for s in t.shape) or 'of 0 dimensions'}"
            for name, t in tensors.items()
        )
        super().__init__(f"{wanted}; {got}")


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    if a.dim() != 1 or b.dim() != 1 or a.numel() != b.numel():
        raise SizeError("wanted two vectors of the same length", a=a, b=b)
    return torch.inner(a, b)


def naive_scores(tokens: Tensor) -> Tensor:
    if tokens.dim() < 2:
        raise SizeError("wanted at least 2 dimensions", tokens=tokens)
    return tokens.matmul(tokens.transpose(-1, -2))


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.dim() != 2:
        raise SizeError("wanted a matrix for a weight", weight=weight, x=x)
    return _inner(x, weight, 0, bias)


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.dim() != 2:
        raise SizeError("wanted a matrix for a weight", weight=weight, x=x)
    return _inner(x, weight, 1, bias)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() < 2:
        raise SizeError("wanted at least 2 dimensions", x=x)
    if weight.dim() != 2:
        raise SizeError("wanted a matrix for a weight", weight=weight, x=x)
    return _inner(x.transpose(-1, -2), weight, 1, bias).transpose(-1, -2)


def _inner(x: Tensor, weight: Tensor, axis: int, bias: Tensor | None) -> Tensor:
    if x.dim() < 2:
        raise SizeError("wanted at least 2 dimensions", x=x)
    if weight.size(axis) != x.size(-1):
        raise SizeError(f"wanted {x.size(-1)} on axis {axis} of the weight", weight=weight)
    if axis == 0:
        weight = weight.t()
    out = torch.inner(x, weight)
    if bias is None:
        return out
    if bias.dim() != 1 or bias.numel() != weight.size(0):
        raise SizeError(f"wanted {weight.size(0)} numbers in the bias", bias=bias)
    return out.add(bias)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    if query.dim() < 2 or key.dim() < 2:
        raise SizeError("wanted at least 2 dimensions", query=query, key=key)
    if query.size(-1) != key.size(-1):
        raise SizeError("wanted one width", query=query, key=key)
    if query.shape[:-2] != key.shape[:-2]:
        raise SizeError("wanted one batch", query=query, key=key)
    # (K Q^T)^T
    return key.matmul(query.transpose(-1, -2)).transpose(-1, -2)
