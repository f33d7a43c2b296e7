"""Is it this exercise, or an earlier one that it calls? Stand-ins for the earlier ones tell."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.answers.door import Answers
from grader.answers.trouble import BrokenFile
from grader.chapters import Catalogue, Exercise
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run
from grader.suite.case import exact, floating
from grader.suite.check import Check
from grader.suite.expected import Tape, on_tape


@dataclass
class Blame:
    """Looks for the culprits of a failed check among the earlier exercises of the same answer.

    Attributes:
        catalogue: the chapters.
        world: the answer.
        setting: device and seed.
        of_answer: what the answer gives in a check, remembered from when it ran.
        tape_of: what a check expects.
    """

    catalogue: Catalogue
    world: Answers
    setting: Setting
    of_answer: Callable[[Check], Outcome]
    tape_of: Callable[[Check], Tape]
    _wrong: dict[str, bool] = field(default_factory=dict)
    _last: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _suspects: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def trust(self, wrong: Mapping[str, bool]) -> None:
        """Take it from an earlier run of the same files which exercises are wrong."""
        self._wrong.update(wrong)

    def culprits(self, check: Check, exercise: Exercise) -> tuple[str, ...]:
        """Name the earlier exercises whose mending alone would make a failed check pass.

        Those that are wrong by themselves are replaced by the suites' float64 arithmetic. Only if
        the check then passes are those named that it takes.
        """
        stand_ins = {
            other.full: stand_in(reference)
            for other, reference in self._used_by(exercise)
            if self._is_wrong(other)
        }
        if not stand_ins:
            return ()
        last = self._last.get(exercise.full, ())
        if last and self._passes(check, {name: stand_ins[name] for name in last}):
            return last
        if not self._passes(check, stand_ins):
            return ()
        needed = dict(stand_ins)
        for name in list(stand_ins):
            fewer = {other: made for other, made in needed.items() if other != name}
            if fewer and self._passes(check, fewer):
                needed = fewer
        self._last[exercise.full] = tuple(needed)
        return tuple(needed)

    def suspects(self, exercise: Exercise) -> tuple[str, ...]:
        """Name the earlier exercises that this one calls and that fail core checks of their own.

        For a students' pack, which has nothing that could stand in for them: there a slip of this
        exercise cannot be told from what a wrong one that it calls makes of it. Of those that
        call each other it is the first.
        """
        if any(chapter.references for chapter in self.catalogue.chapters):
            return ()
        if exercise.full not in self._suspects:
            self._suspects[exercise.full] = self._look_for_suspects(exercise)
        return self._suspects[exercise.full]

    def _look_for_suspects(self, exercise: Exercise) -> tuple[str, ...]:
        wrong = {
            other.full: set(self.world.uses(other.full))
            for other in self._before(exercise)
            if any(check.core and not self.of_answer(check).passed for check in other.checks)
        }
        return tuple(name for name, calls in wrong.items() if not calls & set(wrong) - {name})

    def _passes(self, check: Check, stand_ins: dict[str, Any]) -> bool:
        with self.world.replaced(stand_ins):
            tape = self.tape_of(check)
            return run(check, self.world, self.setting, tape=tape)[0].passed

    def _is_wrong(self, exercise: Exercise) -> bool:
        """Tell whether an exercise fails a check by its own fault."""
        if exercise.full not in self._wrong:
            self._wrong[exercise.full] = any(
                not self.of_answer(check).passed and not self.culprits(check, exercise)
                for check in exercise.checks
            )
        return self._wrong[exercise.full]

    def _used_by(self, exercise: Exercise) -> list[tuple[Exercise, Any]]:
        """List the earlier exercises that this one uses, with what can stand in for them."""
        known = {chapter.stem: chapter.references for chapter in self.catalogue.chapters}
        return [
            (other, known[other.stem][other.name])
            for other in self._before(exercise)
            if other.name in known[other.stem]
        ]

    def _before(self, exercise: Exercise) -> list[Exercise]:
        """List the earlier exercises that this one uses."""
        try:
            used = set(self.world.uses(exercise.full))
        except BrokenFile:
            return []
        earlier = itertools.takewhile(
            lambda other: other.full != exercise.full, self.catalogue.exercises()
        )
        return [other for other in earlier if other.full in used]


def stand_in(reference: Callable[..., Any]) -> Any:
    """Turn float64 arithmetic into a function that keeps its inputs' dtype.

    A class stands in as it is. Inputs that the arithmetic cannot take raise ValueError with all
    their shapes, as the contract asks.
    """
    if isinstance(reference, type):
        return reference

    @functools.wraps(reference)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(reference).bind(*args, **kwargs).arguments
        given = [value for value in bound.values() if floating(value)]
        try:
            with on_tape(None):  # what an answer asks is not what the check expects
                result = reference(**{name: exact(value) for name, value in bound.items()})
        except (RuntimeError, IndexError) as problem:
            shapes = [tuple(v.shape) for v in bound.values() if isinstance(v, torch.Tensor)]
            raise ValueError(f"the shapes do not fit: {shapes}") from problem
        return result.to(given[0].dtype) if given and floating(result) else result

    return call
