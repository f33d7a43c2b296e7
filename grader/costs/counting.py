"""Counting what calls of an answer cost, forward and backward."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, UntypedStorage, nn
from torch.utils._python_dispatch import TorchDispatchMode

from grader import nested
from grader.costs.cost import Cost
from grader.dry_run import sites


class Counting:
    """Counts what calls of an answer cost.

    Args:
        called: what a student calls a file with code of theirs; "" for others.
        here: whether the answer runs in this process; else the other one counts.
        after: what has counted before: what was made then is given, and costs nothing more.

    Attributes:
        forward: what the calls have cost.
        backward: what the ways back have cost.
        outside: bytes that the other process held more during a call or a way back than before it,
            at most, as it is seen from here; None where nobody can tell.
    """

    outside: int | None = None

    def __init__(
        self, called: Callable[[str], str], *, here: bool = True, after: Counting | None = None
    ) -> None:
        self._called, self._here = called, here
        self._alive: Alive = Alive() if after is None else after._alive.given()
        self.forward, self.backward = Cost(), Cost()

    def call(self, made: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call, and count."""
        for value in (made, *nested.flat(*args, *kwargs.values())):
            for one in _tensors_of(value):
                self._alive.knows(one.untyped_storage())
        with Counter(self.forward, self._alive, self._note):
            out = made(*args, **kwargs)
        returned = [one.untyped_storage() for one in nested.flat(out) if isinstance(one, Tensor)]
        keys = {storage._cdata: storage for storage in returned}
        self.forward.unseen += sum(key not in self._alive for key in keys)
        self.forward.left = self._alive.now - sum(map(self._alive.size, keys))
        return out

    def said(self) -> list[dict[str, Any]]:
        """Return what has been counted as JSON."""
        return [self.forward.said(), self.backward.said()]

    def hears(self, said: Any) -> None:
        """Take over what a worker has counted."""
        if type(said) is list and len(said) == 2:
            self.forward.hears(said[0])
            self.backward.hears(said[1])

    def sees(self, bytes_more: int) -> None:
        """Take note of what the other process held more during a call."""
        self.outside = max(self.outside or 0, bytes_more)

    @contextlib.contextmanager
    def way_back(self) -> Iterator[None]:
        """Count what going backward costs; what is kept for it is alive already."""
        if not self._here:
            yield
            return
        with Counter(self.backward, self._alive, self._note):
            yield

    def _note(self, cost: Cost, made: Tensor) -> None:
        """Say where the largest tensor was made: on the student's innermost line."""
        cost.shape = str(list(made.shape))
        site = sites.running(lambda file: bool(self._called(file)), Counting.call.__code__).site
        cost.file, cost.line, cost.function, cost.text = "", 0, "", ""
        if site:
            step = site[-1]
            cost.file = self._called(step.code.co_filename)
            cost.line, cost.function = step.line, step.owner.co_name
            cost.text = sites.line_of(step)


class Alive:
    """The memory that tensors have, each part once however many look at it.

    Attributes:
        now: bytes that are alive of what was made.
    """

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._watched: dict[int, weakref.ref[UntypedStorage]] = {}
        self.now = 0

    def __contains__(self, key: int) -> bool:
        return key in self._sizes

    def given(self) -> Alive:
        """Take all that is alive for given: it costs nothing from now on."""
        self._sizes, self.now = dict.fromkeys(self._sizes, 0), 0
        return self

    def size(self, key: int) -> int:
        """Return the bytes of what was made; nothing for what was given."""
        return self._sizes.get(key, 0)

    def knows(self, storage: UntypedStorage) -> None:
        """Take note of what is given: it costs nothing."""
        self._adds(storage, 0)

    def makes(self, storage: UntypedStorage) -> int:
        """Take note of what is made, and return its bytes; nothing if it is known."""
        return self._adds(storage, storage.nbytes())

    def _adds(self, storage: UntypedStorage, size: int) -> int:
        key = storage._cdata
        if key in self._sizes:
            return 0
        self._sizes[key] = size
        self.now += size
        self._watched[key] = weakref.ref(storage, lambda _: self._loses(key))
        return size

    def _loses(self, key: int) -> None:
        self.now -= self._sizes.pop(key, 0)
        del self._watched[key]


# where the rows stand that these put into a tensor: no other numbers of it are written
PUTS = {
    "aten::index_put_": 2,
    "aten::index_copy_": 3,
    "aten::scatter_": 3,
}


class Counter(TorchDispatchMode):
    """Sees every operation, and what comes out of it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # True would import torch._dynamo, 800 modules, at the first operation that is seen
        return False

    def __init__(self, cost: Cost, alive: Alive, note: Callable[[Cost, Tensor], None]) -> None:
        super().__init__()
        self._cost, self._alive, self._note = cost, alive, note

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [*_among(args), *_among(kwargs.values())] if kwargs else [*_among(args)]
        out = func(*args, **(kwargs or {}))
        self._cost.calls += 1
        # what goes in and is not known was made out of sight, such as by NumPy
        for one in given:
            self._sees(one, worked_out=False)
        writes = _writes(func)
        place = PUTS.get(func.overloadpacket._qualified_op_name)
        put = args[place] if place is not None and place < len(args) else None
        count = put.numel() if isinstance(put, Tensor) else None
        for one in _among((out,)):
            self._sees(one, worked_out=writes, count=count)
        return out

    def _sees(self, one: Tensor, *, worked_out: bool, count: int | None = None) -> None:
        cost = self._cost
        size = self._alive.makes(one.untyped_storage())
        if size:
            cost.made += one.numel()
        elif worked_out:
            cost.made += one.numel() if count is None else count
        if not size:
            return
        cost.peak = max(cost.peak, self._alive.now)
        if size > cost.largest:
            cost.largest = size
            self._note(cost, one)


def _among(values: Iterable[Any]) -> Iterator[Tensor]:
    """Go through the tensors that an operation takes or gives: by themselves or in lists.

    What `nested.flat` does for any value: that took 11 s of the processor, where this takes 7, of
    the loops of chapter 10, and a check has 10.
    """
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _among(value)


@functools.cache
def _writes(func: Any) -> bool:
    """Tell an operation that writes over what it is given, and returns it."""
    aliases = (one.alias_info for one in func._schema.returns)
    return any(alias is not None and alias.is_write for alias in aliases)


def _tensors_of(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, nn.Module):
        yield from value.parameters()
        yield from value.buffers()
