"""The door: suites reach an answer through this, and through nothing else.

Behind it stands a world in this process or one across a pipe; the suites cannot tell.
"""

from __future__ import annotations

import contextlib
import copy
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from grader.answers.kept import Kept
from grader.answers.pretended import Crossing, Mistake

# marks an error that has come out of an answer
OF_ANSWER = "kit_of_answer"


@dataclass(frozen=True)
class Call:
    """A call that went through the door, for the message.

    Attributes:
        name: the exercise.
        args: what it was called with.
        kwargs: the same, by name.
        made: of a module that is called, the call that made it.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    made: Call | None = None


@dataclass(frozen=True)
class Left:
    """What a call left of torch's switches; they are put back after each call."""

    gradients_on: bool
    dtype: torch.dtype


def _call(
    name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], made: Call | None = None
) -> Call:
    """Note a call; a list is told as it was given, whatever the call does to it."""

    def kept(value: Any) -> Any:
        return copy.copy(value) if isinstance(value, list | dict) else value

    named = {key: kept(value) for key, value in kwargs.items()}
    return Call(name, tuple(map(kept, args)), named, made)


class Answers(Protocol):
    """A folder of answers, wherever it runs."""

    folder: Path
    names: Mapping[str, Sequence[str]]
    left: Left
    asked: int
    became: list[tuple[Any, Any]]
    crossing: Crossing | None

    @property
    def loaded(self) -> Sequence[str]:
        """The chapters that have been imported."""

    def load(self, stem: str) -> object:
        """Import a chapter, with those that it imports."""

    def function(self, stem: str, name: str) -> Callable[..., Any]:
        """Return an exercise, ready to be called."""

    def noticing(self, family: str) -> contextlib.AbstractContextManager[list[str]]:
        """Collect the ready-made calls of a family."""

    def goes_back_its_own_way(self) -> bool:
        """Tell whether code of the answer may have a part in a backward pass."""

    def within(self, seconds: float) -> contextlib.AbstractContextManager[None]:
        """Give up on the answer if all that is asked of it inside takes longer."""

    def runs_here(self, module: nn.Module) -> bool:
        """Tell whether a call of a module runs it in this process."""

    def begin(self, seed: int) -> None:
        """Begin a check, with torch's own generators at `seed`."""

    def active(self) -> contextlib.AbstractContextManager[None]:
        """Let imports of chapters find those of this folder."""

    def replaced(self, stand_ins: Mapping[str, Any]) -> contextlib.AbstractContextManager[None]:
        """Put other objects in the place of exercises, named in full, wherever they are used."""

    def seed(self, seed: int) -> None:
        """Seed torch's own generator, where the answer runs."""

    def random_states(self) -> list[torch.Tensor]:
        """Return the states of torch's own generators, where the answer runs."""

    def is_stub(self, full: str) -> bool:
        """Tell whether an exercise holds nothing yet."""

    def uses(self, full: str) -> Sequence[str]:
        """List the exercises that an exercise's code names, directly or by way of others."""

    def owner(self, code: types.CodeType) -> str | None:
        """Return the full name of the exercise whose code this is."""


class Answer:
    """One chapter of an answer: `answer.softmax(scores)` calls the student's `softmax`.

    Args:
        world: the folder of answers.
        stem: the chapter.
        replaced: callables that stand in for exercises of the chapter, as slips do.

    Attributes:
        notes: what a check that passes has to say all the same.
    """

    def __init__(
        self, world: Answers, stem: str, replaced: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self._world, self._stem, self._replaced = world, stem, dict(replaced or {})
        self._calls: list[Call] = []
        self._became: list[tuple[Any, Any]] = []
        self.notes: list[Mistake] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        made = self._replaced.get(name)
        if made is not None:
            made = switches_put_back(crossed(made, self._world.crossing), self._world)
        else:
            made = self._world.function(self._stem, name)

        def door(*args: Any, **kwargs: Any) -> Any:
            call = _call(name, args, kwargs)
            self._calls.append(call)
            if getattr(made, "leaves_inputs", False):
                with of_answer():
                    return self._noted(made(*args, **kwargs), call)
            kept = Kept((*args, *kwargs.values()))
            try:
                with of_answer():
                    result = made(*args, **kwargs)
            except BaseException:
                self._became += kept.settle()[1]
                raise
            result, became = kept.settle(result)
            self._became += became
            return self._noted(result, call)

        return door

    def _noted(self, result: Any, made: Call) -> Any:
        """Note the calls of a module that was made."""
        if isinstance(result, nn.Module):

            def note(_: Any, args: Any, kwargs: Any) -> None:
                self._calls.append(_call(made.name, args, kwargs, made))

            noting = getattr(result, "note_calls", None)
            if noting is not None:
                noting(note)
            else:
                result.register_forward_pre_hook(note, with_kwargs=True)
        return result

    def repeated(self, times: int, name: str, *args: Any) -> list[Any]:
        """Call an exercise again and again with the same arguments."""
        self._calls.append(_call(name, args, {}))
        made = self._replaced.get(name) or self._world.function(self._stem, name)
        many = getattr(made, "repeated", None)
        with of_answer():
            return many(times, *args) if many else [made(*args) for _ in range(times)]

    def after_overwriting(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call an exercise twice alike; what the first call gives is overwritten in between."""
        return self._twice(name, args, kwargs, same=False)

    def after_overwriting_with_the_same(self, name: str, *args: Any) -> Any:
        """Do it with the very same inputs: what was promised to be new is no part of them."""
        return self._twice(name, args, {}, same=True)

    def _twice(self, name: str, args: Any, kwargs: Mapping[str, Any], *, same: bool) -> Any:
        self._calls.append(_call(name, args, kwargs))
        made = self._replaced.get(name) or self._world.function(self._stem, name)
        twice = getattr(made, "twice", None)
        with of_answer():
            if twice is not None:
                return twice(args, kwargs, same=same)
            return call_again(made, args, kwargs, same=same)

    def became(self, value: Any) -> Any:
        """Return what calls made of an input that they were handed; itself, if nothing."""
        known = (*self._became, *self._world.became)
        return next((now for one, now in reversed(known) if one is value), value)

    @property
    def left(self) -> Left:
        """What the last call left of torch's switches."""
        return self._world.left

    @contextlib.contextmanager
    def noticing(self, family: str) -> Iterator[list[str]]:
        """Collect the ready-made calls, "softmax" or "attention", made by what is called inside."""
        with self._world.noticing(family) as seen:
            yield seen

    @contextlib.contextmanager
    def on_pretended_device(self) -> Iterator[list[Mistake]]:
        """Make the calls inside on a pretended GPU, and collect what would go wrong on a real one.

        What comes back is on the CPU again; `kit_place` says where it was, and had to be.
        """
        crossing = Crossing(self._world.folder)
        self._world.crossing = crossing
        try:
            with crossing.backward_too():
                yield crossing.trip.mistakes
        finally:
            self._world.crossing = None

    def goes_back_its_own_way(self) -> bool:
        """Tell whether code of the answer may have a part in a backward pass."""
        return self._world.goes_back_its_own_way()

    def moved(self, module: nn.Module) -> Callable[..., Any]:
        """Return a module that was moved to the pretended GPU, if calls are made there."""
        here = self._world.runs_here(module)
        return crossed(module, self._world.crossing) if here else module

    def seed(self, seed: int) -> None:
        """Seed torch's own generator, where the answer runs."""
        self._world.seed(seed)

    def random_states(self) -> list[torch.Tensor]:
        """Return the states of torch's own generators, where the answer runs."""
        return self._world.random_states()

    def last_call(self, name: str) -> Call | None:
        """Return the last call of an exercise, for the message."""
        return next((call for call in reversed(self._calls) if call.name == name), None)


@contextlib.contextmanager
def of_answer() -> Iterator[None]:
    """Mark what is raised inside as the answer's own."""
    try:
        yield
    except BaseException as problem:
        with contextlib.suppress(AttributeError, TypeError):
            setattr(problem, OF_ANSWER, True)
        raise


def call_again(
    made: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], *, same: bool
) -> Any:
    """Call something, overwrite what it gives, and return what a second, equal call gives.

    Args:
        made: what is called.
        args: what it is called with.
        kwargs: the same, by name.
        same: whether both calls get the very same inputs; otherwise the first one has copies.
    """
    copies = [one.detach().clone() if isinstance(one, torch.Tensor) else one for one in args]
    first = made(*(args if same else copies), **kwargs)
    # what overlaps in memory cannot be overwritten, and so does nobody else
    with torch.no_grad(), contextlib.suppress(RuntimeError):
        if isinstance(first, torch.Tensor):
            first.fill_(1)
    return made(*args, **kwargs)


def crossed(made: Callable[..., Any], crossing: Crossing | None) -> Callable[..., Any]:
    """Let a call run on the pretended machine, if there is one."""
    if crossing is None:
        return made
    return lambda *args, **kwargs: crossing.call(made, args, kwargs)


def switches_put_back(made: Callable[..., Any], world: Answers) -> Callable[..., Any]:
    """Give back what a call changes of torch's switches, and note in `world.left` what it was."""

    def call(*args: Any, **kwargs: Any) -> Any:
        gradients, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
        try:
            return made(*args, **kwargs)
        finally:
            world.left = Left(torch.is_grad_enabled(), torch.get_default_dtype())
            torch.set_grad_enabled(gradients)
            torch.set_default_dtype(dtype)

    return call
