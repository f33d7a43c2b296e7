"""Moving tensors between the CPU and the pretended GPUs; gradients come back the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.dry_run.pretended import CPU, pretended_device
from grader.dry_run.tensors import Elsewhere, where_is


class Move(torch.autograd.Function):
    """A move of a tensor from device to device."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, to: torch.device) -> Tensor:  # type: ignore[override]
        """Copy."""
        ctx.home = where_is(value)
        return _copied(value, to)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]
        """Bring the gradient back."""
        return moved(gradient, ctx.home), None


def moved(value: Tensor, to: torch.device) -> Tensor:
    """Return a tensor that is at `to`: the same one, if it is there already."""
    if where_is(value) == to:
        return value
    if value.requires_grad and torch.is_grad_enabled():
        made: Tensor = Move.apply(value, to)
        return made
    return _copied(value, to)


def _copied(value: Tensor, to: torch.device) -> Tensor:
    inner = (value.inner if isinstance(value, Elsewhere) else value).detach().clone()
    return inner if to == CPU else Elsewhere(inner, to)


def destination(
    args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[torch.device | None, tuple[Any, ...], dict[str, Any]]:
    """Take the device out of the arguments of `Tensor.to`.

    Returns:
        The device, if there is one, and the arguments that are left: all but the tensor.
    """
    rest, named, to = list(args[1:]), dict(kwargs), None
    other = named.pop("other", None)
    for at, value in enumerate(rest):
        if isinstance(value, Tensor):
            other = value
            del rest[at]
            break
    if other is not None:
        to = where_is(other)
        rest.insert(0, other.dtype)
    for at, value in enumerate(rest):
        if isinstance(value, str | torch.device | int) and not isinstance(value, bool):
            to = pretended_device(value)
            del rest[at]
            break
    if "device" in named:
        to = pretended_device(named.pop("device"))
    named.pop("non_blocking", None)
    # the flags that may follow without a name say how to copy, which no one can see
    rest = [value for value in rest if isinstance(value, torch.dtype)]
    if named.get("dtype") is None:
        named.pop("dtype", None)
    return to, tuple(rest), named
