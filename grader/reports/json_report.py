"""The json report, as course scripts read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grader.results import DEVICES, ExerciseResult, Run, SubmissionResult, number

SCHEMA = 1
MAXIMUM = 100.0


def write(run: Run, path: Path) -> None:
    """Write the report."""
    path.write_text(json.dumps(report(run), indent=1) + "\n", encoding="utf-8")


def report(run: Run) -> dict[str, Any]:
    """Return the report as plain data."""
    kit = {"version": run.version, "torch": run.torch, "seed": run.seed, "devices": run.devices}
    submissions = [_submission(submission) for submission in run.submissions]
    return {"schema": SCHEMA, "kit": kit, "submissions": submissions}


def _submission(submission: SubmissionResult) -> dict[str, Any]:
    return {
        "id": submission.identity,
        "status": "ungradable" if submission.problem else "graded",
        "problem": submission.problem,
        "max": number(submission.possible) if submission.exercises else MAXIMUM,
        "score": {device: _score(submission, device) for device in DEVICES},
        "exercises": [_exercise(e, submission.devices) for e in submission.exercises],
    }


def _score(submission: SubmissionResult, device: str) -> float | None:
    if submission.problem:
        return 0.0 if device == "cpu" else None
    score = submission.score(device)
    return None if score is None else number(score)


def _exercise(exercise: ExerciseResult, devices: tuple[str, ...]) -> dict[str, Any]:
    return {
        "exercise": exercise.exercise,
        "points": number(exercise.points),
        "devices": {
            device: _device(exercise, device) if device in devices else None for device in DEVICES
        },
        "checks": [
            {
                "check": check.check,
                "device": check.device,
                "outcome": check.verdict,
                "message": check.message,
                "slip": check.slip,
            }
            for check in exercise.checks
        ],
    }


def _device(exercise: ExerciseResult, device: str) -> dict[str, Any]:
    return {"earned": number(exercise.earned(device)), "outcome": exercise.state(device)}
