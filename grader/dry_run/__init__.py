"""A second device that is not there: what would go wrong on a GPU, told on any machine."""

from grader.dry_run.crossing import Crossing
from grader.dry_run.mistakes import (
    BESIDES,
    LEFT,
    MODEL,
    RAISED,
    WAITS,
    CodeLine,
    Mistake,
    heard,
    lost,
)
from grader.dry_run.pretended import ELSEWHERE

__all__ = [
    "BESIDES",
    "ELSEWHERE",
    "LEFT",
    "MODEL",
    "RAISED",
    "WAITS",
    "CodeLine",
    "Crossing",
    "Mistake",
    "heard",
    "lost",
]
