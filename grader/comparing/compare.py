"""The compare command: tries the functions that are meant, and compares those that are solved."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.comparing.child import Comparison
from grader.naming import in_words
from grader.results import CheckResult, ExerciseResult
from grader.showing.run import run
from grader.trial import Children, Trial
from grader.trial.plan import DEVICE
from grader.written.folder import Folder


@dataclass
class Compared:
    """What came of it.

    Attributes:
        seen: for each function that is solved what there is to see.
        closed: for each other function a sentence.
        trouble: why it ended early; empty if it did not.
    """

    seen: list[dict[str, Any]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    trouble: str = ""


def compare(name: str, answers: Path, seconds: float) -> Compared:
    """Run the checks of a function, or of a chapter's, and compare what is solved.

    Args:
        name: a function or a chapter.
        answers: the folder of answers.
        seconds: how long a check, or one call, may take.

    Raises:
        LookupError: nothing is called so.
        StartError: the answers cannot be tried.
        ShowError: the comparison itself failed.
    """
    found = Compared()
    solved = []
    with contextlib.closing(Children(seconds)) as children:
        plan = children.plan()
        folder = Folder(answers, plan.names())
        for task in plan.select(name):
            checks: list[CheckResult] = [one.check for one in Trial(folder, children).run([task])]
            result = task.result(checks)
            if result.state(DEVICE) == "solved":
                solved.append(task.full)
            else:
                found.closed.append(_closed(result))
    if solved:
        heard = run(Comparison(tuple(solved), str(answers), seconds))
        found.seen, found.trouble = heard.done, heard.trouble
    return found


def _closed(result: ExerciseResult) -> str:
    """Say what is missing before a function can be compared."""
    name = result.exercise.split(".")[1]
    if result.state(DEVICE) == "not started":
        return f"{result.exercise} is not started: once you have solved it, you can compare it."
    failed = sum(not check.passed for check in result.on(DEVICE))
    waits = in_words(result.waits_for(DEVICE))
    why = f", and it only waits for {waits}" if waits else ""
    return (
        f"{result.exercise} is not solved yet: {failed} of its {result.total} checks "
        f"{'fails' if failed == 1 else 'fail'}{why}. Once all pass, you can compare it: "
        f"pytest tests/test_{result.exercise.split('.')[0]}.py::{name}"
    )
