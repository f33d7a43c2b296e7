"""Is it this exercise, or an earlier one that it calls? Stand-ins for the earlier ones tell."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.answers.door import Answers
from grader.chapters import Catalogue, Exercise
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run
from grader.suite.case import exact, floating
from grader.suite.check import Check


@dataclass
class Blame:
    """Looks for the culprit of a failed check among the earlier exercises of the same answer.

    Attributes:
        catalogue: the chapters.
        world: the answer.
        setting: device and seed.
        of_answer: what the answer gives in a check, remembered from when it ran.
    """

    catalogue: Catalogue
    world: Answers
    setting: Setting
    of_answer: Callable[[Check], Outcome]
    _wrong: dict[str, bool] = field(default_factory=dict)

    def trust(self, wrong: Mapping[str, bool]) -> None:
        """Take it from an earlier run of the same files which exercises are wrong."""
        self._wrong.update(wrong)

    def culprits(self, check: Check, exercise: Exercise) -> tuple[str, ...]:
        """Name the earlier exercises whose mending alone would make a failed check pass.

        Those that fail a check of their own are replaced by the suites' float64 arithmetic. Only
        if the check then passes are those named that it takes.
        """
        earlier = _earlier(exercise, self.catalogue, self.world)
        stand_ins = {name: made for name, made in earlier if self._is_wrong(name)}
        if not stand_ins or not self._passes(check, stand_ins):
            return ()
        for name, made in stand_ins.items():
            if self._passes(check, {name: made}):
                return (name,)
        needed = dict(stand_ins)
        for name in list(needed):
            fewer = {other: made for other, made in needed.items() if other != name}
            if self._passes(check, fewer):
                needed = fewer
        return tuple(needed)

    def _passes(self, check: Check, stand_ins: dict[str, Any]) -> bool:
        with self.world.replaced(stand_ins):
            return run(check, self.world, self.setting)[0].passed

    def _is_wrong(self, name: str) -> bool:
        if name not in self._wrong:
            checks = self.catalogue.exercise(name).checks
            self._wrong[name] = any(not self.of_answer(check).passed for check in checks)
        return self._wrong[name]


def _earlier(exercise: Exercise, catalogue: Catalogue, world: Answers) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    world.load(exercise.stem)
    for chapter in catalogue.chapters:
        for other in chapter.exercises:
            if other.full == exercise.full:
                return found
            reference = chapter.references.get(other.name)
            if reference is not None and other.stem in world.loaded:
                found.append((other.full, stand_in(reference)))
    return found


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
            result = reference(**{name: exact(value) for name, value in bound.items()})
        except (RuntimeError, IndexError) as problem:
            shapes = [tuple(v.shape) for v in bound.values() if isinstance(v, torch.Tensor)]
            raise ValueError(f"the shapes do not fit: {shapes}") from problem
        return result.to(given[0].dtype) if given and floating(result) else result

    return call
