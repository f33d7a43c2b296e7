"""The door: suites reach an answer through this, and through nothing else.

Behind it stands a world in this process or one across a pipe; the suites cannot tell.
"""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from grader import nested
from grader.answers.again import call_again, call_changed, call_many
from grader.answers.calls import Call, Trace
from grader.answers.kept import Became, Kept
from grader.answers.protocol import Answers
from grader.answers.switches import put_back_from, standing
from grader.costs import Counting
from grader.dry_run import CodeLine, Crossing, Mistake
from grader.reading.families import Family

PLAIN = str | int | float | bool | bytes
# marks an error that has come out of an answer
OF_ANSWER = "kit_of_answer"


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
        self._handed: list[tuple[Call, tuple[Any, ...], Mapping[str, Any]]] = []
        self._makers: dict[int, tuple[Any, Call]] = {}
        self._kept = Kept()
        self._became: list[Became] = []
        self._switched: list[tuple[str, str]] = []
        self.notes: list[Mistake] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        made = self._replaced.get(name)
        if made is not None:
            made = around(made, self._world)
        else:
            made = self._world.function(self._stem, name)

        def door(*args: Any, **kwargs: Any) -> Any:
            call = self._begins(name, args, kwargs)
            result = self._made(made, call, lambda: made(*args, **kwargs))
            return self._noted(result, call)

        return door

    def earlier(self, stem: str, name: str, *args: Any) -> Any:
        """Call an exercise of an earlier chapter, for what it makes."""
        made = self._world.function(stem, name)
        call = self._begins(name, args, {})
        return self._noted(self._made(made, call, lambda: made(*args)), call)

    def method(self, made: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of an object that an exercise has made."""
        with of_answer():
            does = self._world.method(made, method)
        _, maker = self._makers.get(id(made), (None, None))
        name = type(made).__name__ if maker is None else maker.name
        call = self._begins(name, args, kwargs, maker, made, method)
        return self._made(does, call, lambda: does(*args, **kwargs))

    def attribute(self, made: Any, name: str) -> Any:
        """Return an attribute of an object that an exercise has made."""
        with of_answer():
            return self._world.attribute(made, name)

    def _begins(
        self, name: str, args: Any, kwargs: Any, made: Call | None = None, module: Any = None,
        method: str = "",
    ) -> Call:  # fmt: skip
        """Note a call, and what it is handed."""
        call = Call.of(name, args, kwargs, made, module, method)
        self._calls.append(call)
        self._handed.append((call, args, kwargs))
        return call

    def _made(self, made: Callable[..., Any], call: Call, does: Callable[[], Any]) -> Any:
        """Make a call; what it does to its inputs and to torch's switches is undone, and noted."""
        if getattr(made, "watches_itself", False):
            with of_answer():
                return does()
        before = self._before()
        try:
            with of_answer():
                result = does()
        except BaseException:
            self._after(before, call)
            raise
        return self._after(before, call, result)

    def _before(self) -> tuple[Kept, list[Any]]:
        """Keep the inputs of the last call, and how torch's switches stand."""
        _, args, kwargs = self._handed[-1]
        kept = Kept()
        kept.keep((*args, *kwargs.values()))
        self._kept.update(kept)
        return kept, standing()

    def _after(self, before: tuple[Kept, list[Any]], call: Call, result: Any = None) -> Any:
        kept, stood = before
        self._switched += [(call.name, name) for name in put_back_from(stood)]
        result, became = kept.settle(result)
        self._became += became
        return result

    def _noted(self, result: Any, made: Call) -> Any:
        """Note who has made an object, and the calls of a module."""
        for one in nested.flat(result):
            if not isinstance(one, torch.Tensor | PLAIN | None):
                self._makers[id(one)] = one, made
            if isinstance(one, nn.Module):
                noting = getattr(one, "note_calls", None)
                if noting is not None:
                    noting(lambda of, args, kwargs: self._begins(made.name, args, kwargs, made, of))
                else:
                    self._watch(one, made)
        return result

    def _watch(self, module: nn.Module, made: Call) -> None:
        """Let each call of a module that runs here be like a call through the door."""
        goes_on: list[Any] = []

        def before(one: Any, args: Any, kwargs: Any) -> None:
            call = self._begins(made.name, args, kwargs, made, one)
            there = self._world.crossing is not None
            goes_on.append((call, None if there else self._before()))

        def after(_: Any, args: Any, kwargs: Any, result: Any) -> Any:  # noqa: ARG001
            if not goes_on:  # a hook of the answer's own has refused before
                return None
            call, begun = goes_on.pop()
            return None if begun is None else self._after(begun, call, result)

        module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(after, with_kwargs=True, always_call=True)

    def repeated(self, times: int, name: str, *args: Any) -> list[Any]:
        """Call an exercise again and again with the same arguments."""
        repeated: list[Any] = self._in_one_go(name, args, {}, "repeated", call_many, times, *args)
        return repeated

    def after_overwriting(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call an exercise twice alike; what the first call gives is overwritten in between."""
        return self._in_one_go(name, args, kwargs, "twice", call_again, args, kwargs, False)

    def after_overwriting_with_the_same(self, name: str, *args: Any) -> Any:
        """Do it with the very same inputs: what was promised to be new is no part of them."""
        return self._in_one_go(name, args, {}, "twice", call_again, args, {}, True)

    def after_changing(self, before: Sequence[Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """Call an exercise with what was before, and then with the same tensors, changed in place.

        Args:
            before: the arguments of the first call.
            name: the exercise.
            args: what is put into them, for the second.
            kwargs: what both get by name.
        """
        return self._in_one_go(name, args, kwargs, "changed", call_changed, before, args, kwargs)

    def _in_one_go(
        self, name: str, args: Any, kwargs: Any, way: str, here: Callable[..., Any], *how: Any
    ) -> Any:
        """Make several calls as one; where the answer runs elsewhere, all of them over there.

        Args:
            name: the exercise.
            args: of the call that is noted.
            kwargs: the same, by name.
            way: the method that does it over there.
            here: does it here, with what is called in front of `how`.
            how: what either is handed.
        """
        call = self._begins(name, args, kwargs)
        made = self._replaced.get(name) or self._world.function(self._stem, name)
        does = getattr(made, way, None) or functools.partial(here, made)
        return self._made(made, call, lambda: does(*how))

    def was_handed_on(self, error: BaseException) -> bool:
        """Tell whether an error was raised in another chapter, to which this one had handed on."""
        known = getattr(error, "kit_frames", None)  # of an error that came over the wire
        if known is None:
            frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
            files = [self._world.called(frame.f_code.co_filename) for frame in frames]
        else:
            files = [Path(frame.filename).name for frame in known]
        last = next(filter(None, reversed(files)), "")
        return last.startswith(tuple(stem for stem in self._world.names if stem != self._stem))

    def became(self, value: Any) -> Any:
        """Return what calls made of an input that they were handed; itself, if nothing."""
        known = [one for one in (*self._became, *self._world.became) if not one.part]
        return next((one.now for one in reversed(known) if one.value is value), value)

    def traces(self) -> list[Trace]:
        """List what the calls until now have left behind, also on their way back."""
        if self._world.goes_back_its_own_way():
            self._became += self._kept.settle()[1]
        made = {call.name: call for call in self._calls}
        found = [self._trace(one) for one in (*self._became, *self._world.became)]
        switched = (*self._switched, *self._world.switches_left)
        return found + [Trace(made.get(name), None, switch) for name, switch in switched]

    def _trace(self, became: Became) -> Trace:
        for call, args, kwargs in self._handed:
            places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
            for place, value in places:
                for path, one in (*nested.leaves(value), *nested.holders(value)):
                    if one is became.value:
                        return Trace(call, place, became.part, became.now, one, path)
        return Trace(None, None, became.part, became.now, became.value)

    @contextlib.contextmanager
    def noticing(self, family: Family) -> Iterator[list[str]]:
        """Collect the ready-made calls of a family, made by what is called inside."""
        with self._world.noticing(family) as seen:
            yield seen

    @contextlib.contextmanager
    def on_pretended_device(self, forgiven: Collection[CodeLine] = ()) -> Iterator[list[Mistake]]:
        """Make the calls inside on a pretended GPU, and collect what would go wrong on a real one.

        Mistakes of the lines that are `forgiven` are made no more.

        What comes back is on the CPU again; `kit_place` says where it was, and had to be.
        """
        crossing = Crossing(self._world.called, forgiven)
        self._world.crossing = crossing
        try:
            with crossing.backward_too():
                yield crossing.trip.mistakes
        finally:
            self._world.crossing = None

    def renew(self) -> None:
        """Go on where nothing has been called yet, if calls run in another process."""
        self._world.renew()

    @contextlib.contextmanager
    def counted(self) -> Iterator[Counting]:
        """Count what the calls inside cost; a way back is counted inside of `way_back()`."""
        counting = self._world.begins_to_count()
        try:
            yield counting
        finally:
            self._world.counting = None

    def goes_back_its_own_way(self) -> bool:
        """Tell whether code of the answer may have a part in a backward pass."""
        return self._world.goes_back_its_own_way()

    def moved(self, module: nn.Module) -> Callable[..., Any]:
        """Return a module that was moved to the pretended GPU, if calls are made there."""
        here = self._world.runs_here(module)
        return around(module, self._world) if here else module

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


def around(made: Callable[..., Any], world: Answers) -> Callable[..., Any]:
    """Let calls run on the pretended machine, or be counted, while that is asked for."""
    by = world.crossing or world.counting
    return made if by is None else called_by(by, made)


def called_by(by: Crossing | Counting, made: Callable[..., Any]) -> Callable[..., Any]:
    """Let something else make the calls."""
    return lambda *args, **kwargs: by.call(made, args, kwargs)
