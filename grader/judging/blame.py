"""Is it this exercise, or an earlier one that it calls? Stand-ins for the earlier ones tell."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from grader.chapters import Catalogue, Exercise, World
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run
from grader.suite.check import Check
from grader.suite.laws import exact, floating


def culprits(
    check: Check, exercise: Exercise, catalogue: Catalogue, world: World, setting: Setting
) -> tuple[str, ...]:
    """Name the earlier exercises whose mending alone would make a failed check pass.

    Every earlier exercise, of this chapter and those before, is replaced by the suites' own
    float64 arithmetic. Only if the check then passes, and one of them alone or all of them
    together are at fault, are they named.
    """
    stand_ins = dict(_earlier(exercise, catalogue, world))
    if not stand_ins or not _passes(check, world, setting, stand_ins):
        return ()
    for name, stand_in in stand_ins.items():
        if _passes(check, world, setting, {name: stand_in}):
            return (name,)
    needed = dict(stand_ins)
    for name in list(needed):
        fewer = {other: made for other, made in needed.items() if other != name}
        if _passes(check, world, setting, fewer):
            needed = fewer
    return tuple(needed)


def _earlier(exercise: Exercise, catalogue: Catalogue, world: World) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for chapter in catalogue.chapters:
        for other in chapter.exercises:
            if other.full == exercise.full:
                return found
            reference = chapter.references.get(other.name)
            if reference is not None and other.stem in world.modules:
                found.append((other.full, stand_in(reference)))
    return found


def _passes(check: Check, world: World, setting: Setting, stand_ins: dict[str, Any]) -> bool:
    with world.replaced(stand_ins):
        outcome: Outcome = run(check, world, setting)[0]
    return outcome.passed


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
