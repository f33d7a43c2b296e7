"""What of the messages students see: an instructor may hold some of it back."""

from __future__ import annotations

from dataclasses import replace

from grader.reports.digest import headline
from grader.results import CheckResult, ExerciseResult, Messages, Run, SubmissionResult


def for_students(run: Run) -> Run:
    """Return a run with no more of its messages than students are to see."""
    if run.messages == "all":
        return run
    submissions = tuple(_submission(one, run.messages) for one in run.submissions)
    return replace(run, submissions=submissions)


def _submission(submission: SubmissionResult, told: Messages) -> SubmissionResult:
    exercises = tuple(_exercise(one, told) for one in submission.exercises)
    return replace(submission, exercises=exercises)


def _exercise(exercise: ExerciseResult, told: Messages) -> ExerciseResult:
    return replace(exercise, checks=tuple(_check(one, told) for one in exercise.checks))


def _check(check: CheckResult, told: Messages) -> CheckResult:
    if told == "none":
        return replace(check, message="", slip=None)
    return replace(check, message=headline(check.message))
