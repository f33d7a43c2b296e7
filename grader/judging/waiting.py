"""What a failed check waits for: earlier functions, or the file of an earlier chapter."""

from __future__ import annotations

from pathlib import PurePath

from grader.chapters import BrokenFile
from grader.judging.outcome import Outcome
from grader.suite.check import Check


def waits_for(check: Check, outcome: Outcome) -> tuple[str, ...]:
    """Name what alone makes a check fail, if that is not the exercise itself.

    Returns:
        Full names, `ex04_softmax.softmax`, or a file that cannot be imported, `ex04_softmax.py`.
    """
    if outcome.passed or outcome.verdict == "not started":
        return ()
    if outcome.blame:
        return outcome.blame
    if outcome.stuck_at not in (None, check.full_exercise):
        return (str(outcome.stuck_at),)
    if isinstance(outcome.error, BrokenFile):
        stem = _origin(outcome.error, outcome)
        return () if stem == check.stem else (f"{stem}.py",)
    return ()


def _origin(error: BrokenFile, outcome: Outcome) -> str:
    """Return the stem of the file in which the error was made, among those that import others."""
    inner = error.root
    if isinstance(inner.cause, SyntaxError) and inner.cause.filename:
        return PurePath(inner.cause.filename.replace("\\", "/")).stem
    if inner is error and outcome.frames:
        return PurePath(outcome.frames[-1].filename).stem
    return inner.stem
