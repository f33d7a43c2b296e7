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
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from grader import nested

Result = TypeVar("Result")
# modules that have no answer's code in them
OF_THE_KIT = ("grader.", "test_ex")
CHECK = "grader.suite.check"


class NotRecorded(LookupError):
    """A students' pack does not hold what is asked for."""


class Tape:
    """What is expected in one check: for each name, the results in the order of their use.

    What is the same for every answer is worked out once: for the answer, and for all the slips
    that it is held against. What is made of something that an answer has changed, a model's weights
    say, is the same for nobody else, and so it is kept with what it was made of.
    """

    def __init__(self, kept: Mapping[str, list[Any]] | None = None) -> None:
        self.kept: dict[str, list[Any]] = dict(kept or {})
        self._made_of: dict[str, dict[int, int]] = {}
        self._used: dict[str, int] = {}

    def rewind(self) -> None:
        """Begin the check again."""
        self._used.clear()

    def from_here(self) -> Callable[[], None]:
        """Return what goes back to where the check is now."""
        used = dict(self._used)

        def go_back() -> None:
            self._used = dict(used)

        return go_back

    def take(self, name: str, compute: Callable[[], Any], given: Sequence[Any] = ()) -> Any:
        """Return what is on the tape; at its end, work it out and keep it.

        Args:
            name: what it is called there.
            compute: works it out.
            given: what it is made of; on a pack's tape nothing says what it was.
        """
        kept, at = self.kept.setdefault(name, []), self._used.get(name, 0)
        made_of = self._made_of.setdefault(name, {})
        if at == len(kept):
            made_of[at] = _mark(given)
            kept.append(_alone(compute))
        elif at in made_of and made_of[at] != _mark(given):
            self._used[name] = at + 1
            return _alone(compute)
        # not before: a pack does not hold everything that may be asked for
        self._used[name] = at + 1
        return kept[at]


def _alone(compute: Callable[[], Any]) -> Any:
    """Work something out; what it is made of need not be kept."""
    with on_tape(None):
        made = compute()
    return nested.mapped(lambda one: one.detach() if isinstance(one, Tensor) else one, made)


def _mark(given: Sequence[Any]) -> int:
    """Return a number that another one has where anything in it is another."""
    return hash(tuple((path, _marks(one)) for path, one in nested.leaves(tuple(given))))


def _marks(one: Any) -> Any:
    if isinstance(one, Tensor):
        plain = one.detach().cpu().resolve_conj().resolve_neg()
        plain = plain.float() if plain.dtype is torch.bfloat16 else plain  # NumPy does not know it
        return one.dtype, one.shape, plain.numpy().tobytes()
    if isinstance(one, nn.Module):
        weights = (*one.named_parameters(), *one.named_buffers())
        return type(one).__name__, one.training, *((n, _marks(w)) for n, w in weights)
    if isinstance(one, torch.Generator):
        return _marks(one.get_state())
    return one if isinstance(one, str | int | float | bool | None) else type(one).__name__


class _State:
    tape: Tape | None = None
    draws = False


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


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Let no reference be asked meanwhile: a pack draws inputs, and has no arithmetic."""
    before, _State.draws = _State.draws, True
    try:
        yield
    finally:
        _State.draws = before


def from_here() -> Callable[[], None]:
    """Return what goes back to here on the tape, for calls that are made over and over.

    How often they are depends on the answer, and what is kept for the next must not.
    """
    return (lambda: None) if _State.tape is None else _State.tape.from_here()


def worked_out(name: str, compute: Callable[[], Result], given: Sequence[Any] = ()) -> Result:
    """Return what `compute` gives of what is given, or what is on the tape of it."""
    return compute() if _State.tape is None else _State.tape.take(name, compute, given)


def _off_tape(function: Callable[..., Result]) -> Callable[..., Result]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Result:
        with on_tape(None):
            return function(*args, **kwargs)

    return call


def reference(function: Callable[..., Result]) -> Callable[..., Result]:
    """Mark arithmetic of a suite that is right, and so has no place in a students' pack.

    One that is called like an exercise also stands in for it, where it is asked who is to blame.
    A class stays one, and what its methods work out is on no tape.

    Raises:
        ValueError: it is called while inputs are drawn.
    """
    if isinstance(function, type):
        made: Any = function
        made.kit_reference = True
        for name, method in list(vars(made).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(made, name, _off_tape(method))
        return function
    name = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Result:
        if _State.draws:
            raise ValueError(
                f"inputs are drawn with the help of `{name}`, a @reference, of which a students' "
                "pack has nothing but results: draw such inputs that it is not needed"
            )
        return worked_out(name, lambda: function(*args, **kwargs), (args, kwargs))

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

    call.kit_recorded = True  # type: ignore[attr-defined]
    return call


def is_reference(function: Any) -> bool:
    """Tell whether a function is marked as arithmetic, or is what a pack has of one."""
    marks = ("kit_reference", "kit_recorded")
    return not isinstance(function, type) and any(hasattr(function, mark) for mark in marks)


def _asked_by_the_kit() -> bool:
    """Tell whether a call comes straight from a check, with no code of an answer in between."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") != CHECK:
        if not str(frame.f_globals.get("__name__")).startswith(OF_THE_KIT):
            return False
        frame = frame.f_back
    return True
