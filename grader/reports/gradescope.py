"""Gradescope's results.json, for the one submission that Gradescope grades at a time.

The score is the CPU's (the GPU's where only that was run): the CPU is everywhere, so that no
score depends on the machine. The other device's score is in the text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grader.reports.digest import as_text, beyond, counts, not_used, problems, score_on
from grader.reports.json_report import kit
from grader.reports.text import encodable, one_line, shown
from grader.reports.visible import for_students
from grader.results import ExerciseResult, Run, SubmissionResult, number


def write(run: Run, path: Path) -> None:
    """Write the report.

    Raises:
        ValueError: the run is of several submissions, or of none.
    """
    path.write_text(json.dumps(report(run), indent=1) + "\n", encoding="utf-8")


def report(run: Run) -> dict[str, Any]:
    """Return the report as plain data."""
    submission = the_one(run, "gradescope")
    return {
        "score": number(submission.final),
        "output": _summary(run, submission),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        # a hidden test would hide the student's total
        "visibility": "visible",
        "stdout_visibility": "hidden",
        # students are not shown this, and are not to know the seed
        "extra_data": {
            "kit": {**kit(run), "seed": run.seed_of(submission)},
            "id": encodable(submission.identity),
        },
        "tests": [_test(e, submission) for e in submission.exercises if not submission.problem],
    }


def the_one(run: Run, form: str) -> SubmissionResult:
    """Return the submission of a run of one, as its student sees it.

    Raises:
        ValueError: it is a run of several, or of none.
    """
    if len(run.submissions) != 1:
        raise ValueError(refusal(form, len(run.submissions)))
    return for_students(run).submissions[0]


def refusal(form: str, submissions: int) -> str:
    """Say that a form is for one submission only."""
    return f"a {form} report is about one submission, and here are {submissions}: grade one by one"


def _summary(run: Run, submission: SubmissionResult) -> str:
    names = not_used(submission)
    rest = [f"not used: {names}"] if names else []
    if submission.problem:
        return "\n".join([f"This could not be graded: {shown(submission.problem)}", *rest])
    scores = [f"{device}: {score_on(run, submission, device)}" for device in run.devices]
    further = beyond(submission)
    scores += [f"beyond the seven chapters, and no part of the score: {further}"] if further else []
    return "\n".join([counts(submission), *scores, *rest])


def _test(exercise: ExerciseResult, submission: SubmissionResult) -> dict[str, Any]:
    device = submission.counted
    state = exercise.state(device)
    found = problems(exercise, *submission.devices)
    states = {device: exercise.state(device) for device in submission.devices}
    said = "" if state == "not started" else as_text(found, submission.devices)
    head = state if len(states) == 1 else ", ".join(f"{d}: {s}" for d, s in states.items())
    # what has no part in the score stands beside it without a number
    points = {
        "score": number(exercise.earned(device)), "max_score": number(exercise.points)
    } if exercise.track == "core" else {}  # fmt: skip
    return {
        "name": one_line(exercise.exercise),
        **points,
        "status": "passed" if state == "solved" else "failed",
        "output": "\n\n".join(filter(None, (head, said))),
        "visibility": "visible",
    }
