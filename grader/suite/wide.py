"""Arithmetic in float64 for suites on a device that has none, such as Apple's: it goes to the CPU.

A suite works out what is right in float64, beside the inputs. Where the device cannot, such a step
is taken on the CPU, and so is every one that meets its result, until that is rounded to another
dtype: then it is on the device again. What fails for another reason, such as a constant that an
answer has made on the CPU, fails as ever: it has no float64 in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from grader import devices, nested

WIDE = torch.float64


def beside(device: str) -> contextlib.AbstractContextManager[Any]:
    """Let float64 be on the CPU while a suite runs, if the device has none."""
    return _Wide(device) if "float64" in devices.lacks(device) else contextlib.nullcontext()


class _Wide(TorchFunctionMode):
    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = torch.device(device)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        is_wide = any(map(_is_wide, nested.flat(*args, *kwargs.values())))
        try:
            out = func(*args, **kwargs)
        except (TypeError, RuntimeError):
            if not (func is Tensor.double or is_wide):
                raise
            back = {name: self._moved(value) for name, value in kwargs.items()}
            out = func(*map(self._moved, args), **back)
        if not (is_wide and isinstance(out, Tensor) and out.device.type == devices.CPU):
            return out
        if out.is_floating_point() and out.dtype is not WIDE:
            return out.to(self._device)
        out.kit_wide = True  # type: ignore[attr-defined]
        return out

    def _moved(self, value: Any) -> Any:
        return nested.mapped(self._on_cpu, value)

    def _on_cpu(self, one: Any) -> Any:
        if isinstance(one, Tensor):
            return one.cpu() if one.device == self._device else one
        is_ours = isinstance(one, torch.device | str) and str(one) == str(self._device)
        return torch.device("cpu") if is_ours else one


def _is_wide(value: Any) -> bool:
    if isinstance(value, Tensor):  # what was worked out from one, such as a mask, is beside it
        return value.dtype is WIDE or hasattr(value, "kit_wide")
    return value is WIDE
