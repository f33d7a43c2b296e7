"""Hints: what the answer's own mistake says first, then a ladder of three, one step at a time."""

from grader.hints.advice import Advice, advise
from grader.hints.ladder import Ladder

__all__ = ["Advice", "Ladder", "advise"]
