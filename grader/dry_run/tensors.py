"""Tensors that say they are on a GPU: their numbers are on the CPU, and are computed with there."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from grader.dry_run import rules
from grader.dry_run.pretended import CPU
from grader.dry_run.watch import Now, handed, is_given


class Elsewhere(torch.Tensor):
    """A tensor on a pretended GPU.

    Attributes:
        inner: its numbers, on the CPU.
        place: where it says it is.
    """

    inner: Tensor  # type: ignore[assignment]
    place: torch.device

    @staticmethod
    def __new__(cls: type[Elsewhere], inner: Tensor, place: torch.device) -> Elsewhere:
        """Wrap a tensor of the CPU, which nobody else holds."""
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), inner.stride(), inner.storage_offset(), None, inner.dtype,
            inner.layout, CPU,
        )  # fmt: skip
        made.inner, made.place = inner, place
        return made

    def __init__(self, *_: Any) -> None:
        """Do nothing more."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Compute on the CPU what may be computed on a GPU."""
        return _computed(func, args, kwargs or {})

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """Where it says it is."""
        return self.place

    @property
    def is_cuda(self) -> bool:  # type: ignore[override]
        """It says so."""
        return True

    @property
    def is_cpu(self) -> bool:  # type: ignore[override]
        """It says no."""
        return False

    def get_device(self) -> int:
        """Return the number of its GPU."""
        return int(self.place.index)

    def __repr__(self, *_: Any, **__: Any) -> str:  # type: ignore[override]
        return repr(self.inner.detach())[:-1] + f", device='{self.place}')"

    def __format__(self, spec: str) -> str:
        return self.item().__format__(spec) if self.dim() == 0 else repr(self)

    def tolist(self) -> Any:
        """Return the numbers, as torch does from any device."""
        if Now.watcher is not None:
            Now.watcher.waits()
        return self.inner.tolist()

    def numpy(self, *_: Any, **__: Any) -> Any:
        """Refuse, as on a GPU."""
        if Now.watcher is not None:
            Now.watcher.numpy()
        raise TypeError(
            f"can't convert {self.place} device type tensor to numpy. Use Tensor.cpu() to copy the "
            "tensor to host memory first."
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.numpy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (_restored, (self.inner.detach(), str(self.place), self.requires_grad))


ITEM = torch.ops.aten._local_scalar_dense.default


def _restored(inner: Tensor, place: str, wants: bool) -> Elsewhere:
    return Elsewhere(inner, torch.device(place)).requires_grad_(wants)  # type: ignore[return-value]


def where_is(value: Tensor) -> torch.device:
    """Return where a tensor is, or says it is."""
    return value.place if isinstance(value, Elsewhere) else CPU


class _Seen:
    """The tensors of an operation: those on a GPU, and those that are not."""

    __slots__ = ("here", "there")

    def __init__(self) -> None:
        self.there: list[Elsewhere] = []
        self.here: list[Tensor] = []

    def opened(self, value: Any) -> Any:
        """Take the wrapping off an argument."""
        if isinstance(value, Elsewhere):
            self.there.append(value)
            return value.inner
        if isinstance(value, Tensor):
            self.here.append(value)
        elif type(value) is list or type(value) is tuple:
            return type(value)(map(self.opened, value))
        return value

    def closed(self, value: Any) -> Any:
        """Wrap a result; an argument that comes back is the argument."""
        if isinstance(value, Tensor):
            for one in self.there:
                if one.inner is value:
                    return one
            if any(one is value and is_given(one) for one in self.here):
                return value
            return Elsewhere(value, self.there[0].place)
        if type(value) is list or type(value) is tuple:
            return type(value)(map(self.closed, value))
        return value


def _computed(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    seen = _Seen()
    given = [seen.opened(value) for value in args]
    named = {name: seen.opened(value) for name, value in kwargs.items()}
    if not seen.there:
        return func(*given, **named)
    mine = [one for one in seen.here if is_given(one)]
    if mine or len(seen.there) > 1:
        _meet(func, args, seen.there, mine)
    if func is ITEM and Now.watcher is not None:
        Now.watcher.waits()
    out = func(*given, **named)
    if _changes_shape(func):
        # the shape of the wrapper itself has to follow
        with torch._C._DisableTorchDispatch():
            func(*args, **kwargs)
        return args[0]
    return seen.closed(out)


@functools.cache
def _changes_shape(func: Any) -> bool:
    """Tell whether an operation gives its argument another shape in place."""
    return torch.Tag.inplace_view in func.tags


def _meet(
    func: Any, args: Sequence[Any], there: Sequence[Elsewhere], mine: Sequence[Tensor]
) -> None:
    """Refuse what CUDA would refuse; tell of what is copied to a GPU."""
    if Now.watcher is None:
        return
    if func.overloadpacket in rules.CROSSES:
        for one in mine:
            if one is not args[0]:
                Now.watcher.crosses(handed(one))
        return
    culprit: Tensor | None = next((one for one in there if one.place != there[0].place), None)
    if culprit is None and mine:
        culprit = rules.refused(func, args, mine)
    if culprit is not None:
        Now.watcher.refuse(func, handed(culprit), there)
