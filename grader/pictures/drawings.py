"""How a chapter's coach says what its pictures are made of.

A coach file ends with one function for each exercise that has a picture, marked `@draws(task)`. It
is given a sketch to draw on (`grader/showing/sketch.py`), with the answer's functions at hand. Its
docstring is the picture's first sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol, TypeVar

Drawing = TypeVar("Drawing", bound=Callable[[Any], None])


class Named(Protocol):
    """What has a name: a task."""

    name: str


def draws(task: Named) -> Callable[[Drawing], Drawing]:
    """Mark a function as the one that draws an exercise's picture."""

    def mark(drawing: Drawing) -> Drawing:
        drawing.draws = task.name  # type: ignore[attr-defined]
        return drawing

    return mark


def drawings_in(module: ModuleType) -> dict[str, Callable[[Any], None]]:
    """Return a coach's drawings by the names of their exercises."""
    found = [value for value in vars(module).values() if callable(value)]
    return {made.draws: made for made in found if hasattr(made, "draws")}
