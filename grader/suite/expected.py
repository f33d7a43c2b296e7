"""What a check expects, and the tape that it can be recorded on and played from.

The arithmetic that suites compute right values with is a solution, only slower. A students' pack
has none of it: it has a tape with what came out of it, and each `reference` is a `recorded` there.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from torch import Tensor

Result = TypeVar("Result")
# modules that have no answer's code in them
OF_THE_KIT = ("grader.", "kit_suite_", "test_ex")
CHECK = "grader.suite.check"


class NotRecorded(LookupError):
    """A students' pack does not hold what is asked for."""


class Tape:
    """What is expected in one check: for each name, the results in the order of their use.

    What is the same for every answer is worked out once: for the answer, and for all the slips
    that it is held against.
    """

    def __init__(self, kept: Mapping[str, list[Any]] | None = None) -> None:
        self.kept: dict[str, list[Any]] = dict(kept or {})
        self._used: dict[str, int] = {}

    def rewind(self) -> None:
        """Begin the check again."""
        self._used.clear()

    def take(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what is on the tape; at its end, work it out and keep it."""
        kept, at = self.kept.setdefault(name, []), self._used.get(name, 0)
        self._used[name] = at + 1
        if at == len(kept):
            with on_tape(None):  # what it is made of need not be kept
                made = compute()
            kept.append(made.detach() if isinstance(made, Tensor) else made)
        return kept[at]


class _State:
    tape: Tape | None = None


@contextlib.contextmanager
def on_tape(tape: Tape | None) -> Iterator[None]:
    """Keep what is expected meanwhile, or take it from the tape; None: work it out."""
    before, _State.tape = _State.tape, tape
    if tape is not None:
        tape.rewind()
    try:
        yield
    finally:
        _State.tape = before


def worked_out(name: str, compute: Callable[[], Result]) -> Result:
    """Return what `compute` gives, or what is on the tape of it."""
    return compute() if _State.tape is None else _State.tape.take(name, compute)


def _off_tape(function: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Result:
        with on_tape(None):
            return function(*args, **kwargs)

    return call


def reference(function: Callable[..., Result]) -> Callable[..., Result]:
    """Mark arithmetic of a suite that is right, and so has no place in a students' pack.

    One that is called like an exercise also stands in for it, where it is asked who is to blame.
    A class stays one, and what its modules work out is on no tape.
    """
    if isinstance(function, type):
        made: Any = function
        made.kit_reference, made.forward = True, _off_tape(made.forward)
        return function
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Result:
        return worked_out(name, lambda: function(*args, **kwargs))

    call.kit_reference = True  # type: ignore[attr-defined]
    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call


def recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Stand for arithmetic of which a students' pack has only what came out, on its tapes.

    Raises:
        NotRecorded: no tape holds anything for this call, or an answer makes it.
    """
    name = function.__name__

    def missing() -> Any:
        raise NotRecorded(f"this pack holds no number of `{name}` for that")

    @functools.wraps(function)
    def call(*_: Any, **__: Any) -> Any:
        return worked_out(name, missing) if _asked_by_the_kit() else missing()

    return call


def _asked_by_the_kit() -> bool:
    """Tell whether a call comes straight from a check, with no code of an answer in between."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") != CHECK:
        if not str(frame.f_globals.get("__name__")).startswith(OF_THE_KIT):
            return False
        frame = frame.f_back
    return True
