"""What a call found, so that afterwards it can be said what it has changed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.answers import trees
from grader.answers.wire import Opened, Parcel

HOLDERS = (list, dict)


class Before:
    """The inputs of a call, and the modules that it is handed, as they are now.

    Args:
        message: asks for the call.
        modules: which it is handed, or which is called.
        values: its arguments.
        known: how modules were after the last call that they had a part in; kept up here.
        lent: whether a module was lent: what became of such a one is always told.
    """

    def __init__(
        self,
        message: Opened,
        modules: Sequence[nn.Module],
        values: Iterable[Any],
        known: dict[int, list[Any]],
        lent: Callable[[nn.Module], bool],
    ) -> None:
        self._message, self._modules, self._known = message, modules, known
        self._raw, self._shapes = bytes(message.raw), _shapes(message.tensors)
        self._weights = [lent(module) or self._before(module) for module in modules]
        self._held = [(at, v, copy.copy(v)) for at, v in enumerate(values) if type(v) in HOLDERS]

    def inputs_changed(self) -> bool:
        """Whether a tensor that was handed over is another one now."""
        return self._message.raw != self._raw or _shapes(self._message.tensors) != self._shapes

    def modules_changed(self) -> list[nn.Module]:
        """Return the modules that may not be as they were."""
        pairs = zip(self._modules, self._weights, strict=True)
        changed = [m for m, then in pairs if then is True or self._now(m) != then]
        if changed:
            self._known.clear()  # others may have parts in common with these
        return changed

    def _before(self, module: nn.Module) -> list[Any]:
        return self._known.get(id(module)) or _weights(module)

    def _now(self, module: nn.Module) -> list[Any]:
        now = self._known[id(module)] = _weights(module)
        return now

    def holders_changed(self, parcel: Parcel) -> list[list[Any]]:
        """Return the lists and dictionaries that hold something else now, each with its place."""
        return [[at, parcel.pack(now)] for at, now, then in self._held if now != then]


def _shapes(tensors: Sequence[Tensor]) -> list[Any]:
    return [(one.shape, one.stride(), one.dtype, one.data_ptr(), one.is_neg()) for one in tensors]


def _weights(module: nn.Module) -> list[Any]:
    """Return what tells whether a module's weights have changed."""
    found: list[Any] = []
    for part in trees.parts(module):
        found.append((part.training, *part._modules))
        for name, one in part._parameters.items():
            if one is not None:
                looks = (name, id(one), one.requires_grad, one.dtype, one.shape)
                found.append((looks, _bytes(one)))
    return found


def _bytes(values: Tensor) -> bytes:
    plain = values.detach().cpu()
    if plain.dtype is torch.bfloat16:  # NumPy does not know it
        plain = plain.contiguous().view(torch.int16)
    return plain.numpy().tobytes()
