"""Chapter 1 for people who think in arrays: fold the batch, one baddbmm, unfold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

import torch
from torch import Tensor


class ShapeError(ValueError):
    """Like the one of numpy: shapes not aligned."""


@dataclass(frozen=True)
class Folded:
    """A stack of matrices with all its batch dimensions made one."""

    array: Tensor
    lead: tuple[int, ...]

    @classmethod
    def of(cls, array: Tensor, name: str) -> Folded:
        if array.ndim < 2:
            raise ShapeError(f"{name}.ndim == {array.ndim}, {name}.shape == {tuple(array.shape)}; wanted ndim >= 2")
        lead = tuple(array.shape[:-2])
        return cls(array.reshape(-1, *array.shape[-2:]), lead)

    @property
    def count(self) -> int:
        return self.array.shape[0]

    def unfold(self, array: Tensor) -> Tensor:
        return array.reshape(*self.lead, *array.shape[1:])


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    """(1 x d) (d x 1)"""
    if a.shape != b.shape or a.ndim != 1:
        raise ShapeError(f"shapes {tuple(a.shape)} and {tuple(b.shape)} not aligned: ndim {a.ndim} and {b.ndim}")
    return torch.inner(a, b)


def naive_scores(tokens: Tensor) -> Tensor:
    """X X^T"""
    stack = Folded.of(tokens, "tokens")
    return stack.unfold(torch.bmm(stack.array, stack.array.swapaxes(1, 2)))


def _affine(side: str, contracted: int) -> Callable[[Tensor, Tensor, Optional[Tensor]], Tensor]:
    """Make a projection: tokens to the left ("rows") or to the right ("columns") of the weight.

    `contracted` is the axis of the weight that the features of the tokens go into.
    """

    def project(x: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Tensor:
        if weight.ndim != 2:
            raise ShapeError(f"weight.ndim == {weight.ndim}, weight.shape == {tuple(weight.shape)}; wanted ndim == 2")
        matrix = torch.moveaxis(weight, contracted, 0)  # [d_in, d_out] now
        d_in, d_out = matrix.shape
        if bias is not None and tuple(bias.shape) != (d_out,):
            raise ShapeError(f"bias.shape == {tuple(bias.shape)}; wanted ({d_out},)")
        stack = Folded.of(x, "x")
        axis = 2 if side == "rows" else 1
        if stack.array.shape[axis] != d_in:
            raise ShapeError(f"x.shape == {tuple(x.shape)}, weight.shape == {tuple(weight.shape)}: {d_in} not in place")
        shift = matrix.new_zeros(1) if bias is None else bias
        beta = 0 if bias is None else 1
        many = matrix.expand(stack.count, d_in, d_out)
        if side == "rows":
            return stack.unfold(torch.baddbmm(shift[None, None, :], stack.array, many, beta=beta))
        return stack.unfold(torch.baddbmm(shift[None, :, None], many.swapaxes(1, 2), stack.array, beta=beta))

    return project


_rows, _linear, _columns = _affine("rows", 0), _affine("rows", 1), _affine("columns", 1)


def project_rows(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """X W + b"""
    return _rows(x, weight, bias)


def project_linear(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """X W^T + b"""
    return _linear(x, weight, bias)


def project_columns(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """W X + b 1^T"""
    return _columns(x, weight, bias)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    """Q K^T"""
    left, right = Folded.of(query, "query"), Folded.of(key, "key")
    if left.lead != right.lead or left.array.shape[2] != right.array.shape[2]:
        raise ShapeError(f"query.shape == {tuple(query.shape)} and key.shape == {tuple(key.shape)} not aligned")
    return left.unfold(torch.bmm(left.array, right.array.swapaxes(1, 2)))
