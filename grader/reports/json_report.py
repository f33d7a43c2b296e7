"""The json report, as course scripts read it: schema 2, or the longer schema 1."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from grader.reports import gzipped
from grader.reports.text import encodable
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult, number


def write(run: Run, path: Path) -> None:
    """Write schema 2: checks that passed are counted, not listed."""
    absent = {} if run.absent is None else {"absent": list(map(encodable, run.absent))}
    besides = {"passed_over": list(map(encodable, run.passed_over)), **absent}
    _write(run, path, {"schema": 2, "kit": kit(run), **besides}, partial(_submission, run))


def write_first(run: Run, path: Path) -> None:
    """Write schema 1: every check of the seven chapters, and nothing beside the verdicts."""
    _write(run, path, {"schema": 1, "kit": kit(run)}, partial(_first_submission, run))


def _write(
    run: Run,
    path: Path,
    head: dict[str, Any],
    told: Callable[[SubmissionResult], dict[str, Any]],
) -> None:
    # a submission at a time, on a line of its own: a large course does not fit into memory twice
    with gzipped.writer(path) as file:
        lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items())
        file.write("{" + ",\n ".join(lines) + ',\n "submissions": [')
        for place, submission in enumerate(run.submissions):
            file.write(f"{',' if place else ''}\n{json.dumps(told(submission))}")
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
        **({"reasons": run.reasons} if run.reasons else {}),
    }


def _first_submission(run: Run, submission: SubmissionResult) -> dict[str, Any]:
    return {
        "id": encodable(submission.identity),
        **({} if submission.seed is None else {"seed": submission.seed}),
        "status": "ungradable" if submission.problem else "graded",
        "problem": encodable(submission.problem) if submission.problem else None,
        "max": number(submission.maximum),
        "score": {device: points(submission.reported(device)) for device in run.devices},
        "exercises": [_exercise(run, e, submission.devices) for e in submission.of("core")],
    }


def _submission(run: Run, submission: SubmissionResult) -> dict[str, Any]:
    devices = submission.devices
    through = {device: points(submission.reported_follow_through(device)) for device in run.devices}
    return {
        **_first_submission(run, submission),
        "follow_through": through,
        **({} if run.pass_mark is None else {"passed": run.is_enough(submission)}),
        "beyond": {device: points(submission.beyond(device)) for device in run.devices},
        "unused": [encodable(name) for name in submission.unused],
        "notes": [encodable(note) for note in submission.notes],
        "exercises": [_with_reasons(run, exercise, devices) for exercise in submission.exercises],
    }


def points(score: Fraction | None) -> float | None:
    """Write a score; a device that was not run has none."""
    return None if score is None else number(score)


def _exercise(run: Run, exercise: ExerciseResult, devices: tuple[str, ...]) -> dict[str, Any]:
    return {
        "exercise": exercise.exercise,
        "points": number(exercise.points),
        "devices": {
            device: _device(exercise, device) if device in devices else None
            for device in run.devices
        },
        "checks": [_check(check) for check in exercise.checks],
    }


def _with_reasons(run: Run, exercise: ExerciseResult, devices: tuple[str, ...]) -> dict[str, Any]:
    told = _exercise(run, exercise, devices)
    for device in devices:
        told["devices"][device] |= {
            "passed": sum(check.passed for check in exercise.on(device)),
            "total": exercise.due(device),
            "follow_through": number(exercise.follow_through(device)),
        }
    because = (name for device in devices for name in exercise.because(device))
    return {
        **told,
        "track": exercise.track,
        "because": list(dict.fromkeys(because)),
        "checks": [
            {**_check(check), "because": list(check.because)}
            for check in exercise.checks
            if not check.passed
        ],
    }


def _device(exercise: ExerciseResult, device: str) -> dict[str, Any]:
    state = exercise.state(device)
    # the contract has no word for it
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
