"""Is it this exercise, or an earlier one that it calls? Stand-ins for the earlier ones tell."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from grader import nested
from grader.answers.protocol import Answers
from grader.chapters import Catalogue, Exercise
from grader.judging import misfits
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run
from grader.suite.case import floating
from grader.suite.check import Check
from grader.suite.expected import Tape, on_tape
from grader.trouble import BrokenFile, Lost


@dataclass
class Blame:
    """Looks for the culprits of a failed check among the earlier exercises of the same answer.

    Attributes:
        catalogue: the chapters.
        world: the answer.
        setting: device and seed.
        of_answer: what the answer gives in a check, remembered from when it ran.
        seen: what it has given so far, by check.
        tape_of: what a check expects.
    """

    catalogue: Catalogue
    world: Answers
    setting: Setting
    of_answer: Callable[[Check], Outcome]
    seen: Mapping[tuple[str, str], Outcome]
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
        used = self._used_by(exercise, self._asked_for_by(check))
        every = {other.full: stand_in(reference) for other, reference in used}
        # where no check of theirs has run yet, one run of this one may spare them all
        if not self._all_known(every) and not self._passes(check, every):
            return ()
        stand_ins = {full: made for full, made in every.items() if self._is_wrong(full)}
        if not stand_ins:
            return ()
        last = self._last.get(exercise.full, ())
        # another check of the exercise need not use all that the last one did
        known = bool(last) and stand_ins.keys() >= set(last)
        if known and self._passes(check, {name: stand_ins[name] for name in last}):
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

    def suspects(self, check: Check, exercise: Exercise, outcome: Outcome) -> tuple[str, ...]:
        """Name the earlier exercises that this one calls and that fail core checks of their own.

        For a students' pack, which has nothing that could stand in for them: there a slip of this
        exercise cannot be told from what a wrong one that it calls makes of it. Of those that
        call each other it is the first. An error comes from none that had not run before it.
        """
        if any(chapter.references for chapter in self.catalogue.chapters):
            return ()
        if exercise.full not in self._suspects:
            self._suspects[exercise.full] = self._look_for_suspects(exercise)
        suspects = self._suspects[exercise.full]
        found = outcome.finding
        raised = outcome.error is not None or (found is not None and found.kind == "refused badly")
        if not suspects or not raised:
            return suspects
        ran = self._run_in(check)
        return tuple(name for name in suspects if name in ran)

    def lets_through(self, check: Check, exercise: Exercise, outcome: Outcome) -> tuple[str, ...]:
        """Name the first earlier exercise that had to refuse a misfit that came through.

        It fails to refuse the same by itself, and if it refused, the check would pass.
        """
        if not misfits.not_refused(outcome):
            return ()
        for other in self._before(exercise):
            alike = (one for one in other.checks if misfits.same_misfit(one, check))
            if any(misfits.not_refused(self.of_answer(one)) for one in alike) and self._passes(
                check, {other.full: misfits.refuses}
            ):
                return (other.full,)
        return ()

    def _run_in(self, check: Check) -> set[str | None]:
        """List the exercises whose code runs in a check."""
        codes = set()

        def note(frame: types.FrameType, *_: object) -> None:
            codes.add(frame.f_code)

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            run(check, self.world, self.setting, tape=self.tape_of(check))
        finally:
            sys.setprofile(before)
        return {self.world.owner(code) for code in codes}

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
            outcome, _ = run(check, self.world, self.setting, tape=tape)
            return outcome.passed and not outcome.left

    def _all_known(self, exercises: Iterable[str]) -> bool:
        """Tell whether it is known, or has only to be looked up, which exercises are wrong."""
        return all(
            full in self._wrong
            or all((c.stem, c.name) in self.seen for c in self.catalogue.exercise(full).checks)
            for full in exercises
        )

    def _is_wrong(self, full: str) -> bool:
        """Tell whether an exercise fails a check by its own fault."""
        if full not in self._wrong:
            exercise = self.catalogue.exercise(full)
            try:
                self._wrong[full] = any(
                    not self.of_answer(check).passed and not self.culprits(check, exercise)
                    for check in exercise.checks
                )
            except Lost as lost:
                if lost.verdict == "killed":
                    raise
                self._wrong[full] = True  # who takes his process with him is wrong
        return self._wrong[full]

    def _asked_for_by(self, check: Check) -> set[str]:
        """List the exercises that a check from end to end asks for, beside its own."""
        if check.telling:
            return set()
        names, waiting = set[str](), [inspect.unwrap(check.body)]
        for function in waiting:
            for name in set(function.__code__.co_names) - names:
                names.add(name)
                helper = function.__globals__.get(name)
                if inspect.isfunction(helper) and helper.__module__ == function.__module__:
                    waiting.append(helper)
        return {one.full for one in self.catalogue.exercises() if one.name in names}

    def _used_by(self, exercise: Exercise, asked_for: Iterable[str]) -> list[tuple[Exercise, Any]]:
        """List the earlier exercises that this one uses, with what can stand in for them."""
        known = {chapter.stem: chapter.references for chapter in self.catalogue.chapters}
        return [
            (other, known[other.stem][other.name])
            for other in self._before(exercise, asked_for)
            if other.name in known[other.stem]
        ]

    def _before(self, exercise: Exercise, asked_for: Iterable[str] = ()) -> list[Exercise]:
        """List the earlier exercises that this one uses, or that are asked for beside it."""
        try:
            used = {*self.world.uses(exercise.full), *asked_for}
            for other in asked_for:
                used.update(self.world.uses(other))
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
        known = nested.flat(*bound.values())
        given = [value for value in known if floating(value)]
        try:
            with on_tape(None):  # what an answer asks is not what the check expects
                result = reference(**nested.mapped(_exactly, bound))
        except (RuntimeError, IndexError) as problem:
            shapes = [tuple(v.shape) for v in known if isinstance(v, torch.Tensor)]
            raise ValueError(f"the shapes do not fit: {shapes}") from problem
        if not given:
            return result
        return nested.mapped(lambda one: one.to(given[0].dtype) if floating(one) else one, result)

    return call


def _exactly(value: Any) -> Any:
    """Return a tensor of floats in float64; a model is worked with as it is."""
    return value.double() if floating(value) else value
