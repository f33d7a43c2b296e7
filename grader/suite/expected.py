"""What a check expects, and the tape that it can be recorded on and played from.

The arithmetic that suites compute right values with is a solution, only slower. A students' pack
has none of it: it has a tape with what came out of it. So whatever a suite expects is worked out
through `worked_out`, mostly by a `reference`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Result = TypeVar("Result")


class Tape:
    """What was expected in one check: for each name, the results in the order of their use.

    Args:
        kept: what was recorded; None: record.
    """

    def __init__(self, kept: dict[str, list[Any]] | None = None) -> None:
        self.records = kept is None
        self.kept: dict[str, list[Any]] = kept or {}
        self._used: dict[str, int] = {}

    def take(self, name: str, compute: Callable[[], Any]) -> Any:
        """Work something out and keep it, or return what was kept."""
        if self.records:
            made = compute()
            self.kept.setdefault(name, []).append(made)
            return made
        at = self._used.get(name, 0)
        self._used[name] = at + 1
        return self.kept[name][at]


class _State:
    tape: Tape | None = None


@contextlib.contextmanager
def on_tape(tape: Tape | None) -> Iterator[None]:
    """Record what is expected meanwhile, or play it."""
    before, _State.tape = _State.tape, tape
    try:
        yield
    finally:
        _State.tape = before


def worked_out(name: str, compute: Callable[[], Result]) -> Result:
    """Return what `compute` gives; where a tape is played, what was kept of it."""
    tape = _State.tape
    if tape is None:
        return compute()
    with on_tape(None if tape.records else tape):  # what it is made of need not be kept
        return tape.take(name, compute)  # type: ignore[no-any-return]


def reference(function: Callable[..., Result]) -> Callable[..., Result]:
    """Mark arithmetic of a suite that is right, and so has no place in a students' pack.

    One that is called like an exercise also stands in for it, where it is asked who is to blame.
    A class is left as it is: modules are made, not expected.
    """
    function.kit_reference = True  # type: ignore[attr-defined]
    if isinstance(function, type):
        return function
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Result:
        return worked_out(name, lambda: function(*args, **kwargs))

    call.kit_reference = True  # type: ignore[attr-defined]
    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call
