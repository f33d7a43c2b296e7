"""A device that is not there: who asks for it is noted, and is given the CPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

# a kind of device that PyTorch knows by name and no student writes out
ELSEWHERE = "xpu"


class _Pretended(TorchFunctionMode):
    def __init__(self, asked: list[str]) -> None:
        super().__init__()
        self.asked = asked

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        given = tuple(self._here(func, value) for value in args)
        named = {name: self._here(func, value) for name, value in (kwargs or {}).items()}
        return func(*given, **named)

    def _here(self, func: Any, value: Any) -> Any:
        if isinstance(value, str | torch.device) and str(value).split(":", 1)[0] == ELSEWHERE:
            self.asked.append(getattr(func, "__name__", str(func)))
            return torch.device("cpu")
        return value


@contextlib.contextmanager
def pretending() -> Iterator[list[str]]:
    """Let what is made on the device ELSEWHERE be made on the CPU, and note which calls asked."""
    asked: list[str] = []
    with _Pretended(asked):
        yield asked
