"""The `grade` command: from arguments to a table and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.batch.grade import Plan, devices_of, grade_all
from grader.batch.submissions import find
from grader.chapters import catalogue
from grader.judging.supervisor import Limits
from grader.reports import json_report, table
from grader.results import Run

FORMATS: dict[str, Callable[[Run, Path], None]] = {"json": json_report.write}


@dataclass(frozen=True)
class Request:
    """What the user asked for, as given."""

    paths: Sequence[Path]
    device: str
    reports: Sequence[str]
    only: str | None
    jobs: int
    seed: int
    time_limit: float
    memory: int


def grade(request: Request) -> int:
    """Grade and report; the exit status is 1 if a submission could not be graded.

    Raises:
        ValueError: arguments that make no sense, before anything is graded.
        LookupError: no exercise is called like `only`.
        OSError: a path is not there, or a report cannot be written.
    """
    reports = [_report(text) for text in request.reports]
    submissions = find(request.paths)
    devices, said = devices_of(request.device)
    known = catalogue()
    chosen = known.select(request.only) if request.only else list(known.exercises())
    limits = Limits(request.time_limit, request.memory)
    plan = Plan(tuple(chosen), devices, request.seed, limits, request.jobs)
    with table.progress(len(submissions)) as after_each:
        run = grade_all(submissions, plan, said, after_each)
    table.show(run)
    for write, path in reports:
        write(run, path)
    return int(any(submission.problem for submission in run.submissions))


def _report(text: str) -> tuple[Callable[[Run, Path], None], Path]:
    form, separator, file = text.partition("=")
    if not separator or not file:
        raise ValueError(f"--report takes FORMAT=FILE, as in json=scores.json, not `{text}`")
    if form not in FORMATS:
        raise ValueError(f"there is no report format `{form}`; there is {', '.join(FORMATS)}")
    path = Path(file)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"the report cannot be written to {file}: no such folder, or a folder")
    return FORMATS[form], path
