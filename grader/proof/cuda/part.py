"""A part of the proof on a GPU: what was found, and whether it held."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
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
        held: whether it does.
        tell: prints a line at once: a part may be cut off.
        lines: what was found.
    """

    title: str
    held: Held = "held"
    tell: Callable[[str], None] = field(default=lambda _: None)
    lines: list[str] = field(default_factory=list)

    def note(self, line: str) -> None:
        """Take down what was found."""
        self.lines.append(line)
        self.tell(line)

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


def tried(
    title: str, does: Callable[[Part], None], tell: Callable[[str], None] = lambda _: None
) -> Part:
    """Do a part; what goes wrong in it is no reason not to do the others."""
    part = Part(title, tell=tell)
    try:
        does(part)
    except NotTried as reason:
        part.held = "not tried"
        part.note(str(reason))
    except Exception as problem:
        part.held = "not held"
        part.note("".join(traceback.format_exception(problem)))
    return part
