"""The hint command: finds the function that is meant, tries it, and asks for advice."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grader import naming
from grader.hints.advice import WIDTH, advise
from grader.hints.cards import card, words
from grader.hints.ladder import Ladder
from grader.results import CheckResult, ExerciseResult
from grader.trial import Children, Plan, PlannedTask, Trial
from grader.trial.plan import DEVICE
from grader.written.folder import Folder


def ask(name: str | None, answers: Path) -> list[str]:
    """Return the next hint as lines.

    Args:
        name: a function, a chapter, or a word that has a card; None: the next unsolved function.
        answers: the folder of answers.

    Raises:
        LookupError: nothing is called so.
        StartError: the answers cannot be tried.
    """
    width = shutil.get_terminal_size((88, 24)).columns
    told = card(name, min(width, WIDTH)) if name else None
    if told is not None:
        return told
    with contextlib.closing(Children()) as children:
        plan = children.plan()
        if name:
            naming.select(name, plan.names(), words())
        wanted = plan.select(name) if name else list(plan.tasks)
        folder = Folder(answers, plan.names())
        found = _first_unsolved(Trial(folder, children), plan, wanted)
    if found is None:
        if len(wanted) == 1:
            compare = f"python -m grader compare {wanted[0].name}"
            return [f"{wanted[0].full} is solved: it needs no hint. Another way: {compare}"]
        what = wanted[0].stem if name else "every chapter"
        return [f"{what} is solved: nothing needs a hint."]
    advice = advise(*found, DEVICE, Ladder(answers.parent))
    notes = [("", note) for note in folder.notes([found[0].stem])]
    return replace(advice, paragraphs=(*advice.paragraphs, *notes)).lines(width)


def _first_unsolved(
    trial: Trial, plan: Plan, wanted: Sequence[PlannedTask]
) -> tuple[PlannedTask, ExerciseResult] | None:
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


def tried(trial: Trial, task: PlannedTask) -> ExerciseResult:
    """Run a function's checks."""
    checks: list[CheckResult] = [result.check for result in trial.run([task])]
    return task.result(checks)
