"""Values as JSON, with the numbers of tensors in one array beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Strange:
    """Something that cannot be written down, such as a function or an array."""

    kind: str


class ValueWriter:
    """Collects the numbers of many values."""

    def __init__(self) -> None:
        self._numbers: list[np.ndarray[Any, Any]] = []
        self._length = 0

    def write(self, value: Any) -> Any:
        """Return a value as JSON can hold it."""
        if isinstance(value, Tensor) and value.layout == torch.strided and not value.is_complex():
            numbers = value.detach().cpu().double().numpy().ravel()
            self._numbers.append(numbers)
            begin, self._length = self._length, self._length + len(numbers)
            return {"": str(value.dtype).removeprefix("torch."), "shape": [*value.shape],
                    "at": begin}  # fmt: skip
        if type(value) in PLAIN:
            return value
        if type(value) in (list, tuple):
            return {"": type(value).__name__, "of": [self.write(one) for one in value]}
        if type(value) is dict and all(type(key) is str for key in value):
            return {"": "dict", "of": {key: self.write(one) for key, one in value.items()}}
        return {"": "strange", "kind": type(value).__qualname__}

    def numbers(self) -> np.ndarray[Any, Any]:
        """Return all numbers, one value after the other."""
        return np.concatenate([np.empty(0), *self._numbers])


class ValueReader:
    """Reads values back.

    Args:
        numbers: all numbers, one value after the other.
        device: where tensors are put.
    """

    def __init__(self, numbers: np.ndarray[Any, Any], device: str = "cpu") -> None:
        self._numbers, self._device = torch.from_numpy(numbers), device

    def read(self, written: Any) -> Any:
        """Return the value."""
        if not isinstance(written, dict):
            return written
        kind = written[""]
        if kind == "strange":
            return Strange(written["kind"])
        if kind == "dict":
            return {key: self.read(one) for key, one in written["of"].items()}
        if kind in ("list", "tuple"):
            made = [self.read(one) for one in written["of"]]
            return made if kind == "list" else tuple(made)
        shape, begin = written["shape"], written["at"]
        count = 1
        for size in shape:
            count *= size
        numbers = self._numbers[begin : begin + count].reshape(shape)
        return numbers.to(self._device, getattr(torch, kind), copy=True)
