"""How the inputs of a call stood before it, so that the worker can say how they stand after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from grader import nested
from grader.answers.kept import flags, numbered, others
from grader.remote.wire import Parcel


class InputsBefore:
    """What a call is about to get.

    Args:
        tensors: those that came for it.
        given: its arguments, with these in them.
        home: the device on this side.
    """

    def __init__(self, tensors: Sequence[Tensor], given: Sequence[Any], home: str) -> None:
        self._tensors, self._home = tensors, home
        self._looked = [_look(one) for one in tensors]
        self._flags = [flags(one) for one in tensors]
        self._holders = [one for value in given for _, one in nested.holders(value)]

    def told(self, parcel: Parcel) -> dict[str, Any]:
        """Say how they are now; what became of numbers on the CPU the judge sees by itself."""
        say: dict[str, Any] = {}
        if self._home != "cpu" or self._looked != [_look(one) for one in self._tensors]:
            now = enumerate(self._tensors)
            say["inputs"] = [[at, parcel.tensor(one.detach())] for at, one in now]
        pairs = enumerate(zip(self._flags, self._tensors, strict=True))
        parts = [[at, part] for at, (was, one) in pairs for part in others(was, flags(one))]
        if parts:
            say["flags"] = parts
        told = [numbered(one, self._tensors) for one in self._holders]
        if told:
            say["holders"] = [[at, parcel.pack(one)] for at, one in enumerate(told)]
        return say


def _look(value: Tensor) -> tuple[Any, ...]:
    """Return what tells whether a tensor shows other numbers than those that it was made for."""
    return value.shape, value.stride(), value.dtype, value.data_ptr(), value.is_neg()
