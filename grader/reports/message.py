"""The parts of a message to a student, so that it fits a narrow screen or answers a question."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

INDENT = 15


@dataclass(frozen=True)
class Parts:
    """A message taken apart.

    Attributes:
        headline: what was expected and what came, as one line.
        body: numbers side by side, or the lines of the student's file; as they are.
        advice: title and text: the likely slip, where to read on, how it was called.
    """

    headline: str
    body: tuple[str, ...]
    advice: tuple[tuple[str, str], ...]

    def says(self, title: str) -> str:
        """Return the text of a piece of advice, or nothing."""
        return next((text for name, text in self.advice if name == title), "")

    def lines(self, width: int) -> list[str]:
        """Write the message anew for a screen of this width."""
        said = textwrap.wrap(self.headline, width) + ([""] if self.body else []) + [*self.body]
        return said + ([""] if self.advice else []) + self.advised(width)

    def advised(self, width: int) -> list[str]:
        """Write the advice alone."""
        wide = width >= 3 * INDENT
        hanging = " " * (INDENT if wide else 4)
        said = []
        for title, text in self.advice:
            first = f"  {title:<12} " if wide else f"  {title}: "
            said += textwrap.wrap(
                text, width, initial_indent=first, subsequent_indent=hanging,
                break_on_hyphens=False,
            )  # fmt: skip
        return said


def parts(message: str) -> Parts:
    """Take a message apart."""
    lines = message.splitlines()
    start = next((i for i, line in enumerate(lines) if not line or line[0] == " "), len(lines))
    body: list[str] = []
    advice: list[tuple[str, str]] = []
    for line in lines[start:]:
        if line.startswith("  ") and line[2:3].strip():
            advice.append((line[2:14].strip(), line[INDENT:].strip()))
        elif advice and line.startswith(" " * INDENT):
            title, text = advice.pop()
            advice.append((title, f"{text} {line.strip()}"))
        elif not advice:
            body.append(line)
    while body and not body[0].strip():
        body.pop(0)
    while body and not body[-1].strip():
        body.pop()
    return Parts(" ".join(lines[:start]), tuple(body), tuple(advice))
