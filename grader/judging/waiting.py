"""What a failed check waits for: earlier functions, or the file of an earlier chapter."""

from __future__ import annotations

from pathlib import PurePath

from grader.chapters import BrokenFile
from grader.judging.outcome import OUTSIDE, Outcome
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
        file = _origin(outcome.error, outcome)
        return () if file.split(".")[0] == check.stem else (file,)
    return ()


def _origin(error: BrokenFile, outcome: Outcome) -> str:
    """Return the file in which the error was made, among those that import others."""
    inner = error.root
    if error.goes_in_a_circle:  # which the earlier chapter has begun
        return min(error, inner, key=lambda one: one.stem).file
    if isinstance(inner.cause, SyntaxError) and inner.cause.filename:
        return _file(inner.cause.filename)
    # a call outside all functions may have gone on into another chapter, which is right
    imported = [frame for frame in outcome.frames if frame.name == OUTSIDE]
    if inner is error and imported:
        return _file(imported[-1].filename)
    return inner.file


def _file(name: str) -> str:
    """Return the name of a file, without the cell."""
    return PurePath(name.replace("\\", "/")).name.split(",")[0]
