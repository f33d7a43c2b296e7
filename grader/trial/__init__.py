"""A trial: the student's own answers, run in a fresh process with limits from outside.

The commands of a student talk to it; they themselves never import PyTorch and never run a
student's line, so that they start at once and no answer can end them.
"""

from grader.trial.children import Children, StartError
from grader.trial.plan import Plan, PlannedTask
from grader.trial.trial import Result, Trial

__all__ = ["Children", "Plan", "PlannedTask", "Result", "StartError", "Trial"]
