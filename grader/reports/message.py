"""The parts of a message to a student, so that it fits a narrow screen or answers a question."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

INDENT = 15
SIDE_BY_SIDE = re.compile(r"( +)expected +(yours\b)")
# a row's index, before its numbers
LABEL = re.compile(r" +\d+ ")
WIDTH = 88
STOPS = ("error", "timeout", "crashed")


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
        said = textwrap.wrap(self.headline, width) + ([""] if self.body else [])
        said += _beneath(self.body) if max(map(len, self.body), default=0) > width else self.body
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


def _beneath(body: Sequence[str]) -> list[str]:
    """Lay what stands side by side, expected and yours, on one another."""
    return [line for half in halves(body) or (body,) for line in half]


def halves(body: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Take a picture apart where expected and yours stand side by side; None if they do not."""
    for above, title in enumerate(body):
        found = SIDE_BY_SIDE.match(title)
        if found is not None:
            at, rows = found.start(2), body[above + 1 :]
            edge = len(found[1])
            if rows and all(word.isdigit() for word in rows[0].split()):
                labels = [label[0] for row in rows[1:] if (label := LABEL.match(row))]
                edge = max(map(len, labels), default=edge)
            left = [line[:at].rstrip() for line in body[: above + 1]]
            right = [" " * len(found[1]) + title[at:]]
            left += [row[:at].rstrip() for row in rows]
            return left, [*right, *(row[:edge] + row[at:] for row in rows)]
    return None


def with_polish(message: str, name: str, verdict: str) -> str:
    """Add to the message of a failed check that the function is right but for such points.

    Args:
        message: of the check.
        name: the function's.
        verdict: the check's: what stops is not called right.
    """
    core = f"{name} passes its core checks, but here it"
    if verdict in STOPS:
        said = f"{core} stops. You may go on, and mend this later."
    elif parts(message).headline.endswith("got nan"):
        said = f"{core} gives nan, which spoils a training. You may go on, and mend this later."
    else:
        said = f"{name} is right for ordinary inputs. This can wait: you may go on."
    return "\n".join([message, *Parts("", (), (("Polish", said),)).advised(WIDTH)])


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
