"""The wrong functions of the proof, made where a worker runs them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from grader.answers.world import World


def get_ready() -> None:
    """Load what all of them are made from, before workers are forked."""
    from grader.chapters import catalogue
    from grader.proof import spoils  # noqa: F401

    catalogue()


def slip(full: str, name: str, world: World) -> Callable[..., Any]:  # noqa: ARG001
    """Return the wrong function of a known slip."""
    from grader.chapters import catalogue

    slips = catalogue().exercise(full).task.slips
    return next(one.wrong for one in slips if one.name == name)


def spoil(full: str, name: str, world: World) -> Callable[..., Any]:
    """Return the solution of an exercise, spoiled in a way that is common to all.

    Its lines are those of the answer in `world`, once that has come.
    """
    from grader import places
    from grader.chapters import catalogue
    from grader.proof.spoils import SPOILS

    stem, function = full.split(".")
    right = getattr(World(places.SOLUTIONS, catalogue().names()).load(stem), function)
    if not isinstance(right, type):

        @functools.wraps(right)
        def of_the_answer(*args: Any, **kwargs: Any) -> Any:
            return getattr(world.load(stem), function)(*args, **kwargs)

        right = of_the_answer
    return next(one for one in SPOILS if one.slip == name).spoil(right)
