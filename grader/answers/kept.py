"""Copies of a call's inputs, which are put back after it.

An answer that could change its inputs could change what is expected of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader import nested

PLAIN = (*nested.PLAIN, type(None))


class Became(NamedTuple):
    """What a call has made of an input.

    Attributes:
        value: the input itself.
        now: a copy of what it was after the call.
        part: what of it has changed: nothing for its numbers, or "requires_grad" or "grad".
    """

    value: Any
    now: Any
    part: str = ""


Flags = tuple[bool, Tensor | None] | None


class Kept:
    """Inputs, by their identities, with copies of them as they were handed over last."""

    def __init__(self) -> None:
        self._pairs: dict[int, tuple[Any, Any, Flags]] = {}

    def keep(self, inputs: Iterable[Any]) -> None:
        """Keep copies of tensors, lists and dictionaries; anything else is passed over."""
        for value in inputs:
            for one in nested.flat(value):
                if isinstance(one, Tensor):
                    self._pairs[id(one)] = one, one.detach().clone(), flags(one)
            for _, holder in nested.holders(value):
                self._pairs[id(holder)] = holder, nested.copied(holder), None

    def update(self, other: Kept) -> None:
        """Take over what another one keeps."""
        self._pairs |= other._pairs

    def settle(self, result: Any = None) -> tuple[Any, list[Became]]:
        """Undo what was done to the inputs.

        Returns:
            The result, cut from inputs that are put back: what an answer has changed in place and
            returned is one and the same tensor. And what became of inputs that were changed.
        """
        pairs = self._pairs.values()
        changed = [(one, before) for one, before, _ in pairs if not _same(one, before)]
        became = []
        if changed:
            tensors = [one for one, _ in changed if isinstance(one, Tensor)]
            result = _cut(result, {one.untyped_storage().data_ptr() for one in tensors})
        for one, before in changed:
            now = one.detach().clone() if isinstance(one, Tensor) else told(one)
            became.append(Became(one, now))
            _refill(one, before)
        for one, _, before in pairs:
            for part in others(before, flags(one)):
                became.append(Became(one, None, part))
                _put_back(one, before)
        return result, became


def told(holder: Any) -> Any:
    """Return a list or a dictionary as it is told: of tensors and models only that they are."""
    return nested.mapped(lambda one: one if type(one) in PLAIN else type(one).__name__, holder)


def numbered(holder: Any, tensors: Sequence[Tensor]) -> Any:
    """Return a list or a dictionary with numbers in the place of the tensors that were handed over.

    What is no tensor and cannot be compared, such as a model, is told by its kind.
    """
    numbers = {id(one): at for at, one in enumerate(tensors)}

    def number(one: Any) -> Any:
        if isinstance(one, Tensor):
            return f"tensor {numbers.get(id(one), 'of its own')}"
        return one if type(one) in PLAIN else "another value"

    return nested.mapped(number, holder)


def flags(value: Any) -> Flags:
    """Return what a leaf says of gradients: whether it wants them, and which it has."""
    if not isinstance(value, Tensor) or not value.is_leaf:
        return None
    return value.requires_grad, value.grad


def others(before: Flags, now: Flags) -> list[str]:
    """Name what of the flags has changed."""
    if before is None:
        return []
    if now is None or now[0] != before[0]:
        return ["requires_grad"]
    return [] if now[1] is before[1] else ["grad"]


def _put_back(value: Tensor, flags: Flags) -> None:
    if flags is not None:
        with contextlib.suppress(RuntimeError):  # of a view that has got a graph in place
            if not value.is_leaf:
                value.detach_()
            value.requires_grad_(flags[0])
        value.grad = flags[1]


def _cut(result: Any, touched: set[int]) -> Any:
    def cut(one: Any) -> Any:
        if not isinstance(one, Tensor) or one.layout is not torch.strided:
            return one
        return one.clone() if one.untyped_storage().data_ptr() in touched else one

    return nested.mapped(cut, result)


def _same(one: Any, before: Any) -> bool:
    if not isinstance(one, Tensor):
        return nested.holds_the_same(one, before)
    if one.shape != before.shape or one.dtype != before.dtype:
        return False
    now = one.detach()
    return torch.equal(now, before) or torch.equal(now.nan_to_num(), before.nan_to_num())


def _refill(one: Any, before: Any) -> None:
    if isinstance(one, list):
        one[:] = before
    elif isinstance(one, dict):
        one.clear()
        one.update(before)
    elif one.shape == before.shape and one.dtype == before.dtype:
        one.data.copy_(before)
    else:
        one.data = before
