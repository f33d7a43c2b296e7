"""What the suites are written with: cases, laws, refusals, and the one door for comparing."""

from grader.suite.by_law import checks_by_law
from grader.suite.case import Case, exact, first_float, floating, leaf
from grader.suite.check import Check, check, vary
from grader.suite.compare import (
    Finding,
    equal,
    holds,
    later_call,
    plain,
    same,
    situation,
    unchanged,
)
from grader.suite.costs import Growth
from grader.suite.draw import Draw, aside, default_dtype
from grader.suite.expected import recorded, reference, worked_out
from grader.suite.module_case import ModuleCase
from grader.suite.played import Played, as_it_came
from grader.suite.promises import Rule
from grader.suite.refusals import in_any_words, refusal, refused
from grader.suite.tolerance import OTHER_FLOATS, printed

__all__ = [
    "OTHER_FLOATS",
    "Case",
    "Check",
    "Draw",
    "Finding",
    "Growth",
    "ModuleCase",
    "Played",
    "Rule",
    "as_it_came",
    "aside",
    "check",
    "checks_by_law",
    "default_dtype",
    "equal",
    "exact",
    "first_float",
    "floating",
    "holds",
    "in_any_words",
    "later_call",
    "leaf",
    "plain",
    "printed",
    "recorded",
    "reference",
    "refusal",
    "refused",
    "same",
    "situation",
    "unchanged",
    "vary",
    "worked_out",
]
