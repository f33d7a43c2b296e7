"""Inputs as they were handed over: put back after the call, so that nothing is judged by others.

An answer that could change its inputs could change what is expected of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


class Kept:
    """Copies of a call's inputs.

    Args:
        inputs: tensors, lists and dictionaries; anything else is passed over.
    """

    def __init__(self, inputs: Iterable[Any]) -> None:
        self._pairs = [
            (one, one.detach().clone() if isinstance(one, Tensor) else one.copy())
            for one in inputs
            if isinstance(one, Tensor) or type(one) in (list, dict)
        ]

    def settle(self, result: Any = None) -> tuple[Any, list[tuple[Any, Any]]]:
        """Undo what was done to the inputs.

        Returns:
            The result, cut from inputs that are put back: what an answer has changed in place and
            returned is one and the same tensor. And pairs of an input that was changed and a copy
            of what the call made of it.
        """
        changed = [(one, before) for one, before in self._pairs if not _same(one, before)]
        if not changed:
            return result, []
        tensors = [one for one, _ in changed if isinstance(one, Tensor)]
        result = _cut(result, {one.untyped_storage().data_ptr() for one in tensors})
        became = []
        for one, before in changed:
            now = one.detach().clone() if isinstance(one, Tensor) else one.copy()
            became.append((one, now))
            _refill(one, before)
        return result, became


def _cut(result: Any, touched: set[int]) -> Any:
    if isinstance(result, tuple | list):
        return type(result)([_cut(one, touched) for one in result])
    if isinstance(result, Tensor) and result.layout is torch.strided:
        return result.clone() if result.untyped_storage().data_ptr() in touched else result
    return result


def _same(one: Any, before: Any) -> bool:
    if not isinstance(one, Tensor):
        return bool(one == before)
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
