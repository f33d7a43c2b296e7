"""What came of a check, as the plain data that reports read."""

from __future__ import annotations

from grader.judging.outcome import Outcome
from grader.judging.waiting import waits_for
from grader.results import CheckResult
from grader.suite.check import Check


def check_result(
    check: Check, outcome: Outcome, device: str, longest: int | None = None
) -> CheckResult:
    """Put an outcome into plain data.

    Args:
        check: what was run.
        outcome: what came of it.
        device: where it ran.
        longest: how much of the message is kept; None: all of it.
    """
    return CheckResult(
        check.name, device, outcome.verdict, check.core, outcome.message[:longest], outcome.slip,
        waits_for(check, outcome), check.about, outcome.follows,
    )  # fmt: skip
