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
        waits_for(check, outcome), check.about, _follows(outcome),
    )  # fmt: skip


def _follows(outcome: Outcome) -> bool:
    """Tell whether a check has been run, and passed, with what is to blame put right."""
    tried = outcome.verdict in ("failed", "error", "forbidden") and not outcome.suspects
    return tried and bool(outcome.blame) and outcome.stuck_at is None
