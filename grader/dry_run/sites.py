"""Where in a student's file something happens: the lines that led there, and their text."""

from __future__ import annotations

import itertools
import linecache
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import NamedTuple

LONGEST = 120
# a loop inside of an expression is a function to Python, and none to a student
LOOPS = ("<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>")


class RunningLine(NamedTuple):
    """A line of a student's function that runs.

    Attributes:
        frame: which call of the function.
        owner: the function.
        code: what runs in it: itself, or a loop inside of an expression.
        at: where in that.
        line: of the file.
    """

    frame: int
    owner: CodeType
    code: CodeType
    at: int
    line: int


# the outermost first
Site = tuple[RunningLine, ...]


class Running(NamedTuple):
    """The student's functions that run, outermost first: where each is, and its variables."""

    site: Site
    frames: tuple[FrameType, ...]


def running(mine: Callable[[str], bool], until: CodeType) -> Running:
    """Return where the student's functions are, up to a function of ours."""
    steps: list[RunningLine] = []
    frames: list[FrameType] = []
    inner: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not until:
        if mine(frame.f_code.co_filename):
            if frame.f_code.co_name in LOOPS:
                inner = inner or frame
            else:
                at = inner or frame
                steps.append(
                    RunningLine(id(frame), frame.f_code, at.f_code, at.f_lasti, at.f_lineno)
                )
                frames.append(frame)
                inner = None
        frame = frame.f_back
    return Running(tuple(reversed(steps)), tuple(reversed(frames)))


def shared(one: Site, other: Site) -> int:
    """Count the calls, from the outermost on, that two sites have in common."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0][:2] == pair[1][:2], pairs))


def text(step: RunningLine) -> str:
    """Return the expression that a step is at; its whole line where Python does not know."""
    whole = line_of(step)
    if not hasattr(step.code, "co_positions"):
        return _short(whole.split(" = ")[-1].removeprefix("return "))
    first, last, start, end = next(
        itertools.islice(step.code.co_positions(), step.at // 2, None), (None,) * 4
    )
    if first is None or last is None or start is None or end is None:
        return _short(whole)
    lines = [linecache.getline(step.code.co_filename, at).encode() for at in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return _short(" ".join(line.decode(errors="replace").strip() for line in lines)) or whole


def line_of(step: RunningLine) -> str:
    """Return the whole line that a step is at."""
    return linecache.getline(step.code.co_filename, step.line).strip()


def names(frame: FrameType) -> Iterator[tuple[str, object]]:
    """Go through the variables of a frame: its parameters first."""
    space = frame.f_locals
    count = frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount
    given = frame.f_code.co_varnames[:count]
    for name in (*given, *(name for name in space if name not in given)):
        if name in space:
            yield name, space[name]


def _short(said: str) -> str:
    said = " ".join(said.split())
    return said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."
