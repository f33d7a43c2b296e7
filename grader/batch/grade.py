"""Grading a batch: each submission by itself, some side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from grader import __version__
from grader.batch.submissions import Submission, Unusable
from grader.chapters import Exercise
from grader.judging.supervisor import GradingError, Limits, Supervisor
from grader.results import (
    DEVICES,
    CheckResult,
    DeviceState,
    ExerciseResult,
    Run,
    SubmissionResult,
)


@dataclass(frozen=True)
class Plan:
    """What to grade by, and how.

    Attributes:
        exercises: the exercises that count.
        devices: those to run on, in order.
        seed: of the inputs.
        limits: for each submission.
        jobs: how many submissions at a time.
    """

    exercises: tuple[Exercise, ...]
    devices: tuple[str, ...]
    seed: int
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1


def grade_all(
    submissions: list[Submission],
    plan: Plan,
    said: dict[str, DeviceState],
    after_each: Callable[[SubmissionResult], None] = lambda _: None,
) -> Run:
    """Grade every submission; the results keep the order of the submissions."""
    import torch

    def one(submission: Submission) -> SubmissionResult:
        result = grade_one(submission, plan)
        after_each(result)
        return result

    with ThreadPoolExecutor(plan.jobs) as pool:
        results = tuple(pool.map(one, submissions))
    return Run(__version__, torch.__version__, plan.seed, said, results)


def grade_one(submission: Submission, plan: Plan) -> SubmissionResult:
    """Grade one submission on every device of the plan."""
    try:
        files = submission.files()
        with tempfile.TemporaryDirectory(prefix="submission-") as folder:
            for name, data in files.items():
                (Path(folder) / name).write_bytes(data)
            return _graded(submission.identity, Path(folder), plan)
    except (Unusable, GradingError, OSError) as problem:
        return SubmissionResult(submission.identity, problem=str(problem))


def _graded(identity: str, folder: Path, plan: Plan) -> SubmissionResult:
    found: dict[str, list[CheckResult]] = {exercise.full: [] for exercise in plan.exercises}
    for device in plan.devices:
        checks = [(e.full, c) for e in plan.exercises for c in e.checks]
        results = Supervisor(folder, device, plan.seed, plan.limits).grade(list(plan.exercises))
        for (full, _), result in zip(checks, results, strict=True):
            found[full].append(result)
    exercises = tuple(
        ExerciseResult(e.full, e.points, len(e.checks), tuple(found[e.full]))
        for e in plan.exercises
    )
    return SubmissionResult(identity, exercises=exercises, devices=plan.devices)


def devices_of(asked: str) -> tuple[tuple[str, ...], dict[str, DeviceState]]:
    """Return the devices to run on, and what the report says of each.

    Args:
        asked: "auto", or devices with commas between them.

    Raises:
        ValueError: an unknown device, or a cuda that is not there.
    """
    import torch

    there = torch.cuda.is_available()
    if asked == "auto":
        chosen = ("cpu", "cuda") if there else ("cpu",)
        return chosen, {"cpu": "run", "cuda": "run" if there else "absent"}
    named = tuple(dict.fromkeys(part.strip() for part in asked.split(",")))
    unknown = [part for part in named if part not in DEVICES]
    if unknown:
        raise ValueError(f"there is no device `{unknown[0]}`: cpu, cuda, cpu,cuda or auto")
    if "cuda" in named and not there:
        raise ValueError("cuda was asked for, but PyTorch sees no CUDA device here")
    return named, {name: "run" if name in named else "not asked" for name in DEVICES}
