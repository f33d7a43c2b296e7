"""Scores, and the checks that all chapters share."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import torch
from torch import Tensor

FLOATS: Final = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


class ShapeMismatchError(ValueError):
    """Something has the wrong shape; the message tells all shapes of the call."""


@functools.singledispatch
def describe(thing: Any) -> str:
    return f"{thing!r}"


@describe.register(Tensor)
def _(thing: Tensor) -> str:
    return f"{thing.ndim}-dimensional of shape {str(tuple(thing.shape))} and dtype {thing.dtype}"


@describe.register(type(None))
def _(thing: None) -> str:
    return "absent"


def refuse(reason: str, **arguments: Any) -> NoReturn:
    listing = "; ".join(f"`{name}` is {describe(value)}" for name, value in arguments.items())
    raise ShapeMismatchError(f"{reason}. All arguments: {listing}")


def require_tensors(*tensors: Any) -> None:
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected a torch.Tensor, got {type(tensor).__name__}")


def require_floats(*tensors: Any) -> None:
    require_tensors(*tensors)
    for tensor in tensors:
        if tensor.dtype not in FLOATS:
            raise TypeError(f"expected a floating tensor, got {tensor.dtype}")
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise TypeError(f"expected one dtype, got {[tensor.dtype for tensor in tensors]}")


def require_ndim(ndim: int, **tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        if tensor.ndim < ndim:
            refuse(f"`{name}` has {tensor.ndim} dimensions and needs at least {ndim}", **tensors)


def require_same_batch(skip: int = 2, **tensors: Tensor) -> None:
    batches = {name: tuple(tensor.shape[: tensor.ndim - skip]) for name, tensor in tensors.items()}
    try:
        common = tuple(torch.broadcast_shapes(*batches.values()))
    except RuntimeError:
        refuse(f"the batches {batches} do not even broadcast", **tensors)
    # ... and no broadcasting was needed for it
    if any(batch != common for batch in batches.values()):
        refuse(f"the batches {batches} are not the same", **tensors)


def require_matrix(weight: Tensor, name: str, axis: int, size: int, **others: Tensor) -> None:
    if weight.ndim != 2:
        refuse(
            f"`{name}` must be a matrix and has {weight.ndim} dimensions",
            **{name: weight},
            **others,
        )
    if weight.shape[axis] != size:
        kind = ("rows", "columns")[axis]
        refuse(
            f"`{name}` must have {size} {kind}, not {weight.shape[axis]}",
            **{name: weight},
            **others,
        )


def require_bias(bias: Tensor | None, d_out: int, **others: Tensor) -> None:
    if bias is not None:
        require_floats(bias, *others.values())
        if tuple(bias.shape) != (d_out,):
            refuse(f"`bias` must be a vector of {d_out} numbers", bias=bias, **others)


def whole(number: Any, name: str, least: int) -> int:
    try:
        result = operator.index(number)
    except TypeError as error:
        raise TypeError(f"`{name}` must be a whole number, got {number!r}") from error
    if result < least:
        raise ValueError(f"`{name}` must be at least {least}, got {result}")
    return result


def require_mask(mask: Tensor | None, room: Sequence[int], name: str = "mask") -> None:
    if mask is None:
        return
    require_tensors(mask)
    if mask.dtype is not torch.bool:
        raise TypeError(f"`{name}` must be boolean, got {mask.dtype}")
    try:
        grown = tuple(torch.broadcast_shapes(mask.shape, tuple(room)))
    except RuntimeError:
        grown = None
    if grown != tuple(room):
        refuse(f"`{name}` must broadcast to {tuple(room)} without growing it", **{name: mask})


def dot_product(a: Tensor, b: Tensor) -> Tensor:
    require_floats(a, b)
    if a.ndim != 1 or b.ndim != 1:
        refuse("`a` and `b` must both be vectors", a=a, b=b)
    if a.shape != b.shape:
        refuse(f"`a` has {a.shape[0]} numbers, `b` has {b.shape[0]}", a=a, b=b)
    return torch.dot(a, b)


def naive_scores(tokens: Tensor) -> Tensor:
    require_floats(tokens)
    require_ndim(2, tokens=tokens)
    return torch.matmul(tokens, tokens.mT)


def project_rows(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    require_floats(x, weight)
    require_ndim(2, x=x)
    require_matrix(weight, "weight", 0, x.shape[-1], x=x)
    require_bias(bias, weight.shape[1], x=x, weight=weight)
    product = torch.matmul(x, weight)
    return product if bias is None else product + bias


def project_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    require_floats(x, weight)
    require_ndim(2, x=x)
    require_matrix(weight, "weight", 1, x.shape[-1], x=x)
    require_bias(bias, weight.shape[0], x=x, weight=weight)
    product = torch.matmul(x, weight.mT)
    return product if bias is None else product + bias


def project_columns(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    require_floats(x, weight)
    require_ndim(2, x=x)
    require_matrix(weight, "weight", 1, x.shape[-2], x=x)
    require_bias(bias, weight.shape[0], x=x, weight=weight)
    product = torch.matmul(weight, x)
    return product if bias is None else product + bias.unsqueeze(-1)


def dot_product_scores(query: Tensor, key: Tensor) -> Tensor:
    require_floats(query, key)
    require_ndim(2, query=query, key=key)
    if query.shape[-1] != key.shape[-1]:
        refuse("`query` and `key` differ in width", query=query, key=key)
    require_same_batch(query=query, key=key)
    return torch.matmul(query, key.mT)
