"""A check's message on a screen that is narrower than what it was written for."""

from __future__ import annotations

import shutil
from dataclasses import replace

from grader.judging.explain import WIDTH, drawing
from grader.judging.outcome import Outcome
from grader.reports.message import parts

LEAST = 40


def width_here() -> int:
    """Return how wide messages are on this screen; where there is none, as in a log, at most."""
    return max(LEAST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def narrowed(message: str, outcome: Outcome, width: int) -> str:
    """Write a message anew, its matrices with fewer columns; a traceback stays as it is."""
    if width >= WIDTH or outcome.fault:
        return message
    said = parts(message)
    drawn = drawing(outcome, width)
    return "\n".join(replace(said, body=tuple(drawn) or said.body).lines(width))
