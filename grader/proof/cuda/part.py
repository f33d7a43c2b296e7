"""A part of the proof on a GPU: what was found, and whether it held."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from grader.proof.figure import Figure

Held = Literal["held", "not held", "not tried"]


class NotTried(Exception):
    """A part says nothing here; the reason is its text."""


@dataclass
class Part:
    """What came of a part.

    Attributes:
        title: what it proves, as the list at the end says it.
        note: takes down what was found, at once: a part may be cut off.
        held: whether it does.
    """

    title: str
    note: Callable[[str], None]
    held: Held = "held"

    def require(self, holds: bool, otherwise: str) -> None:
        """Take down what must hold, if it does not."""
        if not holds:
            self.held = "not held"
            self.note(f"NOT HELD: {otherwise}")

    def take(self, figures: Iterable[Figure]) -> None:
        """Take down figures, which all have to be full."""
        for figure in figures:
            for line in figure.lines():
                self.note(line)
            if not figure.proved:
                self.held = "not held"


def tried(title: str, does: Callable[[Part], None], tell: Callable[[str], None]) -> Part:
    """Do a part; what goes wrong in it is no reason not to do the others."""
    part = Part(title, tell)
    try:
        does(part)
    except NotTried as reason:
        part.held = "not tried"
        part.note(str(reason))
    except Exception as problem:
        part.held = "not held"
        part.note("".join(traceback.format_exception(problem)))
    return part
