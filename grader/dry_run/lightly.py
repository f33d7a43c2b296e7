"""Tensors of a class of one's own, without 500 modules that PyTorch imports for them at first."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import torch

DISTRIBUTED = "torch.distributed.tensor"


@functools.cache
def prepare() -> None:
    """Let PyTorch ask once whether a tensor is a distributed one, and be told of an empty class.

    It imports the whole of that package, and sympy with it, to compare one class. In a process
    that has it already nothing is done. In this one a distributed tensor, which no exercise has,
    would from now on not be known as such.
    """
    if DISTRIBUTED in sys.modules:
        return
    empty = types.ModuleType(DISTRIBUTED)
    empty.DTensor = type("DTensor", (), {})  # type: ignore[attr-defined]
    sys.modules[DISTRIBUTED] = empty
    try:
        torch.neg(torch.zeros(1).as_subclass(_Asked))
    finally:
        del sys.modules[DISTRIBUTED]


class _Asked(torch.Tensor):
    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        del types, kwargs
        return args[0]
