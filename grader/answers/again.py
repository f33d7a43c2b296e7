"""Several calls of one answer as one: again and again, after overwriting, and after changing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from grader import nested


def call_many(made: Callable[..., Any], times: int, *args: Any, **kwargs: Any) -> list[Any]:
    """Call something again and again with the same arguments."""
    return [made(*args, **kwargs) for _ in range(times)]


def call_again(made: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], same: bool) -> Any:
    """Call something, overwrite what it gives, and return what a second, equal call gives.

    Args:
        made: what is called.
        args: what it is called with.
        kwargs: the same, by name.
        same: whether both calls get the very same inputs; otherwise the first one has copies.
    """
    copies = [nested.mapped(_copy, one) for one in args]
    first = made(*(args if same else copies), **kwargs)
    _overwrite(first)
    second = made(*args, **kwargs)
    if not same:
        # what both share, such as a table that is filled anew, is nobody's own
        _overwrite(first)
    return second


def call_changed(
    made: Callable[..., Any], before: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call something, put other numbers into the tensors that it got, and call it again.

    Args:
        made: what is called.
        before: what it is called with first; it gets copies.
        args: the numbers that are put into these, and whatever else the second call gets.
        kwargs: what both get by name.
    """
    copies = [nested.mapped(_copy, one) for one in before]
    made(*copies, **kwargs)
    return made(*map(_refilled, copies, args), **kwargs)


def _refilled(one: Any, value: Any) -> Any:
    """Put a tensor's numbers into another one; what is none, or does not fit, takes its place."""
    tensors = isinstance(one, torch.Tensor) and isinstance(value, torch.Tensor)
    fits = tensors and one.shape == value.shape and one.is_contiguous()
    return one.copy_(value) if fits else value


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _overwrite(value: Any) -> None:
    # what overlaps in memory cannot be overwritten, and so does nobody else; what class an answer
    # has made of its tensors does not matter
    for one in nested.flat(value):
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            if isinstance(one, torch.Tensor):
                with contextlib.suppress(RuntimeError):
                    # a mask may be True throughout, as that of a single position
                    torch.Tensor.fill_(one, one.dtype != torch.bool)
