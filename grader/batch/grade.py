"""Grading one submission: read, looked up, judged; whatever goes wrong is its own problem."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from grader.batch.bench import GradingError, NoBench, Stopped
from grader.batch.names import shortened
from grader.batch.plan import Plan, content
from grader.batch.sources import Unusable
from grader.batch.store import Store
from grader.batch.submissions import Submission
from grader.results import CheckResult, ExerciseResult, SubmissionResult

Judge = Callable[[Mapping[str, bytes]], Mapping[str, list[CheckResult]]]
Result = TypeVar("Result", CheckResult, ExerciseResult)
SHORT = 500


def grade_one(
    submission: Submission, plan: Plan, judge: Judge, store: Store | None = None
) -> tuple[SubmissionResult, bool]:
    """Grade one submission on every device of the plan, unless the store knows the result.

    Args:
        submission: whatever it holds.
        plan: what to grade by.
        judge: from the chapters' sources to each device's results, check by check.
        store: where results are kept.

    Returns:
        The result, and whether it was in the store.

    Raises:
        Stopped: the batch was stopped meanwhile.
        NoBench: no submission can be graded here.
    """
    try:
        files = submission.files()
        where = (submission.identity, content(files), plan.fingerprint)
        known = store.find(*where) if store else None
        if known is not None and _fits(known, plan):
            return _put_together(submission, plan, known), True
        found = _by_exercise(judge(files), plan)
        if store:
            store.keep(*where, found)
        return _put_together(submission, plan, found), False
    except (Stopped, NoBench):
        raise
    except (Unusable, GradingError, OSError) as problem:
        return SubmissionResult(submission.identity, problem=shortened(str(problem))), False
    except Exception as problem:
        says = f"the grader itself failed on it: {type(problem).__name__}: {problem}"
        return SubmissionResult(submission.identity, problem=shortened(says)), False


def _by_exercise(
    found: Mapping[str, list[CheckResult]], plan: Plan
) -> dict[str, list[CheckResult]]:
    sorted_out: dict[str, list[CheckResult]] = {e.full: [] for e in plan.exercises}
    checks = [e.full for e in plan.exercises for _ in e.checks]
    for device in plan.devices:
        for full, result in zip(checks, found[device], strict=True):
            sorted_out[full].append(_whole(result))
    return sorted_out


def _whole(result: CheckResult) -> CheckResult:
    """Spell out halves of characters, which an answer can put into a message, but no file hold."""
    message = result.message.encode("utf-8", "backslashreplace").decode()
    return result if message == result.message else dataclasses.replace(result, message=message)


def _fits(known: Mapping[str, list[CheckResult]], plan: Plan) -> bool:
    """Tell whether what was kept has the shape that this kit would give it."""
    return list(known) == [e.full for e in plan.exercises] and all(
        [(result.check, result.device) for result in known[e.full]]
        == [(check.name, device) for device in plan.devices for check in e.checks]
        for e in plan.exercises
    )


def _put_together(
    submission: Submission, plan: Plan, found: Mapping[str, list[CheckResult]]
) -> SubmissionResult:
    exercises = tuple(
        _shared(ExerciseResult(e.full, e.points, len(e.checks), tuple(map(_shared, found[e.full]))))
        for e in plan.exercises
    )
    return SubmissionResult(submission.identity, exercises=exercises, devices=plan.devices)


def _shared(result: Result) -> Result:
    """Let equal results be one object: in a large batch most submissions pass most checks."""
    checks = result.checks if isinstance(result, ExerciseResult) else (result,)
    if any(len(check.message) > SHORT for check in checks):
        return result
    return cast("Result", _first_of_its_like(result))


@functools.lru_cache(maxsize=4096)
def _first_of_its_like(result: CheckResult | ExerciseResult) -> CheckResult | ExerciseResult:
    return result
