"""A second device that is not there: what would go wrong on a GPU, told on any machine."""

from grader.answers.pretended.crossing import Crossing
from grader.answers.pretended.mistakes import (
    BESIDES,
    LEFT,
    MODEL,
    RAISED,
    WAITS,
    Mistake,
    heard,
    lost,
)
from grader.answers.pretended.places import ELSEWHERE

__all__ = [
    "BESIDES",
    "ELSEWHERE",
    "LEFT",
    "MODEL",
    "RAISED",
    "WAITS",
    "Crossing",
    "Mistake",
    "heard",
    "lost",
]
