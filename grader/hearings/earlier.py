"""The reference's earlier chapters, lent to an answer of which one chapter is judged.

The reference is run in the judge's process. An answer gets what a call of it gives, and no more.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader import places
from grader.chapters import Catalogue, World
from grader.trouble import Missing

DEVICE = "device"


def references(known: Catalogue, stem: str) -> dict[str, Any]:
    """Return what stands for every exercise of the chapters before one, by their full names."""
    return {full: _reference(full) for full in _before(known, stem)}


def _before(known: Catalogue, stem: str) -> Iterator[str]:
    for chapter in known.chapters:
        if chapter.stem == stem:
            return
        yield from (exercise.full for exercise in chapter.exercises)


@functools.cache
def _reference(full: str) -> Any:
    stem, name = full.split(".")
    made = _solutions().found(stem, name)
    if made is None:
        raise Missing(f"{places.short(places.SOLUTIONS / stem)}.py has no `{name}`")
    return made if isinstance(made, type) else _here(made)


@functools.cache
def _solutions() -> World:
    from grader.chapters import catalogue

    return World(places.SOLUTIONS, catalogue().names())


def _here(made: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function work on the judge's device, wherever the answer wants the outcome."""
    signature = inspect.signature(made)
    if DEVICE not in signature.parameters:
        return made

    @functools.wraps(made)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if bound.arguments.get(DEVICE) is not None:
            bound.arguments[DEVICE] = _cpu_if_a_device(bound.arguments[DEVICE])
        return made(*bound.args, **bound.kwargs)

    return call


def _cpu_if_a_device(named: Any) -> Any:
    """Return the CPU for any device; what is none stays, for the function to refuse."""
    try:
        torch.device(named)
    except (TypeError, RuntimeError):
        return named
    return torch.device("cpu")
