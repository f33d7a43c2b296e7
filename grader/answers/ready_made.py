"""Noticing ready-made calls: by name where Python calls torch, and by kernel at the dispatcher."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from grader.reading.families import Family


@functools.cache
def _name_within(family: Family, func: Any) -> str | None:
    """Return the name of a function of torch's, if it is one of those that are looked for."""
    name = getattr(func, "__name__", None) or str(func)
    return name if family.holds(name) else None


class _Names(TorchFunctionMode):
    def __init__(self, family: Family, seen: list[str]) -> None:
        super().__init__()
        self.family, self.seen = family, seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _name_within(self.family, func)
        if name is not None:
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


class _Kernels(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # True would import torch._dynamo, 800 modules, at the first kernel that is seen
        return False

    def __init__(self, family: Family, seen: list[str]) -> None:
        super().__init__()
        self.family, self.seen = family, seen

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__ if hasattr(func, "overloadpacket") else str(func)
        if self.family.holds(name):
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def noticing(family: Family) -> Iterator[list[str]]:
    """Collect the names of ready-made calls of a family."""
    seen: list[str] = []
    with noticing_names(family, seen), _Kernels(family, seen):
        yield seen


def noticing_names(family: Family, seen: list[str]) -> TorchFunctionMode:
    """Collect in `seen` the names of ready-made calls of a family that Python makes."""
    return _Names(family, seen)
