"""Lending under `torch.vmap`: the judge does to what it has lent what the answer does to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader import nested

Dims = list[int | None]
MOST_LEVELS = 8
ONLY_VMAP = "of torch's transforms only vmap can be used on what another chapter is to bring"


def transformed() -> bool:
    """Tell whether a transform of `torch.func` is at work."""
    return bool(torch._C._functorch.peek_interpreter_stack() is not None)


def through_vmap(call: Callable[[Any, list[Dims]], Any], given: Any, levels: list[Dims]) -> Any:
    """Make a call with what the tensors in it are made of, one level of vmap after the other.

    Args:
        call: makes the call, told the dimensions of each level, the innermost first.
        given: what it is called with.
        levels: those that have been taken off already.
    """
    tensors = [one for one in nested.flat(given) if isinstance(one, Tensor)]
    return _Lifted.apply(call, given, levels, *tensors)  # type: ignore[no-untyped-call]


def lifted(made: Callable[..., Any], levels: Sequence[Dims], *args: Any, **kwargs: Any) -> Any:
    """Call a function under so many levels of vmap."""
    given = (args, kwargs)
    tensors = [one for one in nested.flat(given) if isinstance(one, Tensor)]

    def flat(*now: Tensor) -> Any:
        there = _with(given, now)
        return made(*there[0], **there[1])

    for dims in levels:
        flat = torch.vmap(flat, in_dims=tuple(dims))
    return flat(*tensors)


def within(shapes: Sequence[Sequence[int]], levels: list[Dims]) -> tuple[list[list[int]], int]:
    """Return the shapes that a function under vmap sees, and how many times it does."""
    seen, times = [list(shape) for shape in shapes], 1
    for dims in reversed(levels):
        many = [shape.pop(at) for shape, at in zip(seen, dims, strict=True) if at is not None]
        times *= max(many, default=1)
    return seen, times


def are_levels(said: Any, tensors: int) -> bool:
    """Tell whether what was said are the dimensions of levels, for so many tensors."""
    return (
        type(said) is list
        and len(said) <= MOST_LEVELS
        and all(type(dims) is list and len(dims) == tensors for dims in said)
        and all(one is None or type(one) is int for dims in said for one in dims)
    )


def _with(given: Any, tensors: Sequence[Tensor]) -> Any:
    waiting = iter(tensors)
    return nested.mapped(lambda one: next(waiting) if isinstance(one, Tensor) else one, given)


class _Lifted(torch.autograd.Function):
    @staticmethod
    def forward(*_: Any) -> Any:
        raise RuntimeError(ONLY_VMAP)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep nothing: it is never gone back through."""

    @staticmethod
    def vmap(_: Any, in_dims: Any, call: Any, given: Any, levels: Any, *tensors: Tensor) -> Any:
        now, known = _with(given, tensors), [*levels, list(in_dims[3:])]
        if transformed():
            return through_vmap(call, now, known), 0
        return call(now, known), 0
