"""The csv report: one row for a submission, with columns of our own."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from grader.reports.text import cell
from grader.results import ExerciseResult, Run, SubmissionResult, number


def write(run: Run, path: Path) -> None:
    """Write a row for each submission; a device that was not run is an empty cell, never 0."""
    columns, further = _exercises(run), _goes_further(run)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([cell(dict(run.columns).get(name, name)) for name in header(run)])
    writer.writerows(_row(run, one, columns, further) for one in run.submissions)
    said = text.getvalue()
    # without the mark Excel takes an umlaut for two other letters
    path.write_bytes(said.encode("utf-8" if said.isascii() else "utf-8-sig"))


def header(run: Run) -> list[str]:
    """List the columns, by the names that the kit gives them."""
    through = [f"{device} follow_through" for device in run.devices]
    names = ["id", "status", "problem", *run.devices, "max", "seed", *through, "because", "unused"]
    names += [] if run.pass_mark is None else ["passed"]
    names += [f"{device} beyond" for device in run.devices] if _goes_further(run) else []
    return names + [f"{cell(name)} {device}" for name, device in _exercises(run)]


def _exercises(run: Run) -> list[tuple[str, str]]:
    names = list(dict.fromkeys(e.exercise for s in run.submissions for e in s.exercises))
    return [(name, device) for device in run.devices for name in names]


def _goes_further(run: Run) -> bool:
    return any(submission.of("beyond") for submission in run.submissions)


def _row(
    run: Run, submission: SubmissionResult, columns: list[tuple[str, str]], further: bool
) -> Iterator[str]:
    yield cell(submission.identity)
    yield "ungradable" if submission.problem else "graded"
    yield cell(submission.problem or "")
    yield from (_points(submission.reported(device)) for device in run.devices)
    yield _points(submission.maximum)
    yield str(run.seed_of(submission))
    yield from (_points(submission.reported_follow_through(device)) for device in run.devices)
    yield cell("; ".join(_waiting(submission)))
    yield cell(", ".join(submission.unused))
    if run.pass_mark is not None:
        yield "yes" if run.is_enough(submission) else "no"
    if further:
        yield from (_points(submission.beyond(device)) for device in run.devices)
    exercises = {exercise.exercise: exercise for exercise in submission.exercises}
    for name, device in columns:
        yield _earned(exercises.get(name), device if device in submission.devices else None)


def _waiting(submission: SubmissionResult) -> Iterator[str]:
    """Say of each function which earlier ones it fails because of."""
    for exercise in submission.exercises:
        because = exercise.because(submission.counted)
        if because:
            yield f"{exercise.exercise}: {', '.join(because)}"


def _earned(exercise: ExerciseResult | None, device: str | None) -> str:
    return _points(exercise.earned(device)) if exercise and device else ""


def _points(points: Fraction | None) -> str:
    return "" if points is None else f"{number(points):.2f}"
