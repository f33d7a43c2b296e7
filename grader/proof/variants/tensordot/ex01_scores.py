"""What numpy has, torch has as well: tensordot, einsum, swapaxes, movedim."""

from __future__ import annotations

import torch
from torch import Tensor


def check(cond: bool, msg: str) -> None:
    if not cond:
        raise ValueError(msg)


def shapes(**arrays: Tensor) -> str:
    return "; ".join(
        f"{name}.ndim = {a.ndim}, {name}.shape = {tuple(a.shape)}" for name, a in arrays.items()
    )


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    check(a.ndim == 1 and b.ndim == 1, f"need 1-d arrays: {shapes(a=a, b=b)}")
    check(a.shape == b.shape, f"lengths differ: {shapes(a=a, b=b)}")
    return torch.tensordot(a, b, dims=1)


def naive_scores(tokens: Tensor) -> Tensor:
    check(tokens.ndim >= 2, f"need at least 2-d: {shapes(tokens=tokens)}")
    return torch.einsum("...id,...jd->...ij", tokens, tokens)


def _check_affine(x: Tensor, x_axis: int, weight: Tensor, w_axis: int, bias: Tensor | None) -> None:
    check(x.ndim >= 2, f"need at least 2-d: {shapes(x=x)}")
    check(weight.ndim == 2, f"need a matrix: {shapes(weight=weight)}")
    check(
        weight.shape[w_axis] == x.shape[x_axis],
        f"axis {w_axis} of weight and axis {x_axis} of x differ: {shapes(weight=weight, x=x)}",
    )
    if bias is not None:
        check(
            tuple(bias.shape) == (weight.shape[1 - w_axis],),
            f"bias does not fit weight: {shapes(bias=bias, weight=weight)}",
        )


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _check_affine(x, -1, weight, 0, bias)
    out = torch.tensordot(x, weight, dims=([x.ndim - 1], [0]))
    return out if bias is None else torch.add(out, bias)


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _check_affine(x, -1, weight, 1, bias)
    out = torch.tensordot(x, weight, dims=([x.ndim - 1], [1]))
    return out if bias is None else torch.add(out, bias)


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    _check_affine(x, -2, weight, 1, bias)
    out = torch.tensordot(weight, x, dims=([1], [x.ndim - 2]))  # (d_out, *batch, n)
    out = torch.movedim(out, 0, -2)
    return out if bias is None else torch.add(out, bias[:, None])


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    both = shapes(query=query, key=key)
    check(query.ndim >= 2 and key.ndim >= 2, f"need at least 2-d: {both}")
    check(query.shape[-1] == key.shape[-1], f"last axes differ: {both}")
    check(query.shape[:-2] == key.shape[:-2], f"leading axes differ: {both}")
    return torch.matmul(query, torch.swapaxes(key, -1, -2))
