"""What a worker notices while the answer's code runs, and tells the judge of."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor

from grader import nested
from grader.answers.ready_made import noticing_names
from grader.costs import Counting
from grader.dry_run import Crossing
from grader.reading.families import Family
from grader.remote import kernels
from grader.remote.objects import Objects
from grader.remote.wire import Parcel

MOST_SEEN = 10
NOTHING: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


class Observer:
    """Notes ready-made calls, mistakes of the dry run, and costs.

    Args:
        home: the device on this side.
        called: how the answer's files are called in a message.

    Attributes:
        crossing: the way to the pretended machine, once calls are made there.
    """

    def __init__(self, home: str, called: Callable[[str], str]) -> None:
        self.home, self.called = home, called
        self._seen: list[str] = []
        self._net = contextlib.ExitStack()
        self._family: Family | None = None
        self.begin()

    def start(self) -> None:
        """Notice from now on calls that have no kernel; nobody reads an answer's warnings."""
        warnings.showwarning = _unheard
        # the answer can reach what is handed here: a list's method, and not the worker
        kernels.overheard(self._seen.append)

    def begin(self) -> None:
        """Begin a check: nothing of the one before is left."""
        self.crossing: Crossing | None = None
        self._crossed = 0
        self._counting: Counting | None = None
        self._counted = 0

    def before_a_call(self) -> None:
        """Forget what was noted of the last call."""
        del self._seen[:]

    def crosses(self, header: Mapping[str, Any]) -> Crossing:
        """Return the way to the pretended machine that the judge means."""
        number, forgiven = header["crosses"], map(tuple, header.get("forgiven", ()))
        if self.crossing is None or number != self._crossed:
            self.crossing, self._crossed = Crossing(self.called, list(forgiven)), number
        return self.crossing

    def counts(self, header: Mapping[str, Any]) -> Counting:
        """Return what counts the costs that the judge means."""
        if self._counting is None or header["counts"] != self._counted:
            self._counting = Counting(self.called, after=self._counting)
            self._counted = header["counts"]
        return self._counting

    def noticing(self, header: Mapping[str, Any]) -> contextlib.AbstractContextManager[Any]:
        """Notice the ready-made calls that the judge asks for, if it does."""
        family = Family.read(header["notice"]) if "notice" in header else None
        if family != self._family:
            self._net.close()
            self._family = family
            if family:
                self._net.enter_context(kernels.replaced(family, self._seen.append, self.home))
        return noticing_names(family, self._seen) if family else NOTHING

    def told(self, header: Mapping[str, Any]) -> dict[str, Any]:
        """Say what was noted of what the judge asked for."""
        told: dict[str, Any] = {}
        if "notice" in header and self._seen:
            told["seen"] = self._seen[:MOST_SEEN]
        if self.crossing is not None and "crosses" in header:
            told["mistakes"] = [one.said() for one in self.crossing.trip.mistakes]
        if "counts" in header:
            told["costs"] = self.counts(header).said()
        return told


class WatchedParts:
    """What some parts of modules are handed when they are called: of the last call, that counts."""

    def __init__(self) -> None:
        self._last: tuple[int, str, Any, Any] | None = None

    @contextlib.contextmanager
    def watched(self, parts: Sequence[Any], objects: Objects) -> Iterator[None]:
        """Note it for these parts as long as this lasts."""
        hooks = []
        for number, path in parts:

            def note(
                _: Any, args: Any, kwargs: Any, number: int = number, path: str = path
            ) -> None:
                self._last = number, path, args, kwargs

            part = objects.module(number).get_submodule(path)
            hooks.append(part.register_forward_pre_hook(note, with_kwargs=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def told(self, parcel: Parcel) -> dict[str, Any]:
        """Say what it was, if there was a call."""
        if self._last is None:
            return {}
        number, path, args, kwargs = self._last
        given = nested.mapped(detached, (tuple(args), dict(kwargs)))
        return {"handed": [number, path, parcel.pack(given)]}


def _unheard(*_: Any, **__: Any) -> None:
    pass


def detached(value: Any) -> Any:
    """Return a tensor without its graph, and anything else as it is."""
    return value.detach() if isinstance(value, Tensor) else value
