"""The wrong functions of the proof, made where a worker runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def slip(full: str, name: str) -> Callable[..., Any]:
    """Return the wrong function of a known slip."""
    from grader.chapters import catalogue

    slips = catalogue().exercise(full).task.slips
    return next(one.wrong for one in slips if one.name == name)


def spoil(full: str, name: str) -> Callable[..., Any]:
    """Return the solution of an exercise, spoiled in a way that is common to all."""
    from grader.answers.world import World
    from grader.chapters import catalogue, places
    from grader.proof.spoils import SPOILS

    stem, function = full.split(".")
    right = getattr(World(places.SOLUTIONS, catalogue().names()).load(stem), function)
    return next(one for one in SPOILS if one.slip == name).spoil(right)
