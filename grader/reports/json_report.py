"""The json report, as course scripts read it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from grader.reports.text import encodable
from grader.results import DEVICES, CheckResult, ExerciseResult, Run, SubmissionResult, number

SCHEMA = 1


def write(run: Run, path: Path) -> None:
    """Write the report, a submission at a time: a large course does not fit into memory twice."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{{"schema": {SCHEMA},\n "kit": {json.dumps(kit(run))},\n "submissions": [')
        for place, submission in enumerate(run.submissions):
            file.write(f"{',' if place else ''}\n{json.dumps(_submission(submission), indent=1)}")
        file.write("]}\n")


def kit(run: Run) -> dict[str, Any]:
    """Say with what was graded, so that it can be done again."""
    return {
        "version": run.version,
        "torch": run.torch,
        "seed": run.seed,
        "devices": run.devices,
        "isolation": run.isolation,
        **({} if run.earlier == "own" else {"earlier": run.earlier}),
    }


def _submission(submission: SubmissionResult) -> dict[str, Any]:
    return {
        "id": encodable(submission.identity),
        **({} if submission.seed is None else {"seed": submission.seed}),
        "status": "ungradable" if submission.problem else "graded",
        "problem": encodable(submission.problem) if submission.problem else None,
        "max": number(submission.maximum),
        "score": {device: points(submission.reported(device)) for device in DEVICES},
        "exercises": [_exercise(e, submission.devices) for e in submission.exercises],
    }


def points(score: Fraction | None) -> float | None:
    """Write a score; a device that was not run has none."""
    return None if score is None else number(score)


def _exercise(exercise: ExerciseResult, devices: tuple[str, ...]) -> dict[str, Any]:
    return {
        "exercise": exercise.exercise,
        "points": number(exercise.points),
        "devices": {
            device: _device(exercise, device) if device in devices else None for device in DEVICES
        },
        "checks": [_check(check) for check in exercise.checks],
    }


def _device(exercise: ExerciseResult, device: str) -> dict[str, Any]:
    state = exercise.state(device)
    # schema 1 has no word for it
    outcome = "wrong" if state == "to polish" else state
    return {"earned": number(exercise.earned(device)), "outcome": outcome}


def _check(check: CheckResult) -> dict[str, Any]:
    return {
        "check": encodable(check.check),
        "device": check.device,
        "outcome": check.verdict,
        "message": encodable(check.message),
        "slip": check.slip,
    }
