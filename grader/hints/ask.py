"""The hint command: finds the function that is meant, tries it, and asks for advice."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from grader.hints.advice import advise
from grader.hints.ladder import Ladder
from grader.results import CheckResult, ExerciseResult
from grader.trial import Children, Plan, Task, Trial
from grader.trial.plan import DEVICE


def ask(name: str | None, answers: Path) -> list[str]:
    """Return the next hint as lines.

    Args:
        name: a function or a chapter; None: the next unsolved function.
        answers: the folder of answers.

    Raises:
        LookupError: nothing is called so.
        StartError: the answers cannot be tried.
    """
    with contextlib.closing(Children()) as children:
        plan = children.plan()
        wanted = plan.select(name) if name else list(plan.tasks)
        found = _first_unsolved(Trial(answers, children), plan, wanted)
    if found is None:
        if len(wanted) == 1:
            return [f"{wanted[0].full} is solved: it needs no hint."]
        what = wanted[0].stem if name else "every chapter"
        return [f"{what} is solved: nothing needs a hint."]
    width = shutil.get_terminal_size((88, 24)).columns
    return advise(*found, DEVICE, Ladder(answers.parent)).lines(width)


def _first_unsolved(
    trial: Trial, plan: Plan, wanted: Sequence[Task]
) -> tuple[Task, ExerciseResult] | None:
    """Try one function after the other; one that waits leads to the one that it waits for."""
    for task in wanted:
        result = tried(trial, task)
        if result.state(DEVICE) == "solved":
            continue
        first = next(iter(result.waits_for(DEVICE)), "")
        if len(wanted) > 1 and first in {other.full for other in plan.tasks}:
            earlier = plan.task(first)
            return earlier, tried(trial, earlier)
        return task, result
    return None


def tried(trial: Trial, task: Task) -> ExerciseResult:
    """Run a function's checks."""
    checks: list[CheckResult] = [result.check for result in trial.run([task])]
    return task.result(checks)
