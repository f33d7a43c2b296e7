"""What a check says of a right answer that it does not let pass, for the author of the suite."""

from __future__ import annotations

import traceback
from pathlib import Path

from grader.author_errors import located
from grader.chapters.catalogue import suite_path
from grader.judging.outcome import Outcome
from grader.suite.case import Case
from grader.suite.check import Check
from grader.trouble import words_of


def failure(check: Check, outcome: Outcome, seed: int | None = None) -> str:
    """Write the message of a check, or with a seed its headline.

    Where the suite itself has stopped, it is one line that says so.
    """
    which = f"{check.stem} {check.name}" + ("" if seed is None else f", seed {seed}")
    if outcome.fault and outcome.error is not None:
        return f"{which}: {stopped(check, outcome.error)}"
    said = [f"{which}\n{outcome.message}" if seed is None else f"{which}: {outcome.headline}"]
    if outcome.finding is not None and outcome.finding.kind == "dtype":
        said.append("(where the answer is right, its Case takes the dtype: dtype=torch.float32)")
    return "\n".join(said)


def stopped(check: Check, error: BaseException) -> str:
    """Say where a suite stopped, and with which sizes."""
    suite = suite_path(check.stem)
    line, sizes = 0, ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if Path(frame.f_code.co_filename) == suite:
            line = number
        case = frame.f_locals.get("self")
        if isinstance(case, Case):
            sizes = f" with {_sizes(case)}"
    return f"{located(suite, line)} stops{sizes}: {type(error).__name__}: {words_of(error)}"


def _sizes(case: Case) -> str:
    """Write the sizes and the batch of a case."""
    said = [f"{name}={size}" for name, size in {**case.dimensions, **case.sizes}.items()]
    said += [f"batch {list(case.batch)}"] if case.batch else []
    return ", ".join(said) or "no sizes"
