"""What the suites are written with: checks, inputs, laws and comparing."""

from grader.suite.check import Check, check, each, vary
from grader.suite.compare import (
    Finding,
    at_place,
    close,
    equal,
    holds,
    plain,
    refuses,
    same,
    unchanged,
)
from grader.suite.draw import Draw, aside
from grader.suite.tolerance import OTHER_FLOATS, printed

__all__ = [
    "OTHER_FLOATS",
    "Check",
    "Draw",
    "Finding",
    "aside",
    "at_place",
    "check",
    "close",
    "each",
    "equal",
    "holds",
    "plain",
    "printed",
    "refuses",
    "same",
    "unchanged",
    "vary",
]
