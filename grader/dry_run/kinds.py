"""Torch's old names for kinds of tensors, such as `torch.cuda.FloatTensor`, and storages.

A tensor of the pretended GPU is of the kinds that a tensor of CUDA is of.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.dry_run.pretended import CPU, FIRST
from grader.dry_run.tensors import Elsewhere, where_is

NAMES = {
    "BFloat16Tensor": torch.bfloat16, "BoolTensor": torch.bool, "ByteTensor": torch.uint8,
    "CharTensor": torch.int8, "DoubleTensor": torch.float64, "FloatTensor": torch.float32,
    "HalfTensor": torch.float16, "IntTensor": torch.int32, "LongTensor": torch.int64,
    "ShortTensor": torch.int16,
}  # fmt: skip
WORDS = {dtype: name for name, dtype in NAMES.items()}


class _Kind(type):
    """Stands in for one of torch's kinds, which ask a tensor in a way that it cannot answer."""

    real: Any
    dtype: torch.dtype
    place: str

    def __instancecheck__(cls, value: Any) -> bool:
        alike = isinstance(value, Tensor) and value.dtype == cls.dtype
        return alike and where_is(value).type == cls.place

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.real(*args, **kwargs)


def _kind(module: Any, name: str, place: str) -> Any:
    real = getattr(module, name)
    attributes = {"real": real, "dtype": NAMES[name], "place": place}
    return _Kind(name, (), {**attributes, "__module__": module.__name__})


KINDS = [
    (module, name, _kind(module, name, place))
    for module, place in ((torch, "cpu"), (torch.cuda, "cuda"))
    for name in NAMES
    if hasattr(module, name)
]


def name_of(value: Elsewhere) -> str:
    """Return what `type()` says of a tensor on a GPU."""
    return f"torch.cuda.{WORDS.get(value.dtype, 'Tensor')}"


def meant(kind: Any) -> tuple[torch.device, torch.dtype] | None:
    """Return where a kind is, and of which dtype; None if it is no kind."""
    said = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
    module, _, name = said.rpartition(".")
    if name not in NAMES or module not in ("torch", "torch.cuda"):
        return None
    return FIRST if module == "torch.cuda" else CPU, NAMES[name]


class Storage:
    """The memory of a tensor, which says that it is on a pretended GPU.

    Args:
        real: the memory, on the CPU.
        place: where it says it is.
    """

    is_cuda = True

    def __init__(self, real: Any, place: torch.device) -> None:
        self._real, self.device = real, place

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __len__(self) -> int:
        return len(self._real)

    def get_device(self) -> int:
        """Return the number of its GPU."""
        return int(self.device.index)

    def untyped(self) -> Storage:
        """Return the memory as bytes."""
        return Storage(self._real.untyped(), self.device)
