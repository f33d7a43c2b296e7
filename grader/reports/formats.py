"""The formats of reports, by the name that `--report FORMAT=FILE` gives them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grader.reports import classroom, csv_report, gradebook, gradescope, html_report, json_report
from grader.reports import junit as junit_report
from grader.results import Run

FORMATS: dict[str, Callable[[Run, Path], None]] = {
    "json": json_report.write,
    "json1": json_report.write_first,
    "csv": csv_report.write,
    "html": html_report.write,
    "junit": junit_report.write,
    "gradescope": gradescope.write,
    "classroom": classroom.write,
}
OF_ONE = frozenset({"gradescope", "classroom"})


def refuse_early(form: str, submissions: int) -> None:
    """Say before grading what could only fail after it.

    Args:
        form: a format.
        submissions: how many there are to grade.

    Raises:
        ValueError: the format is for one submission, or a library that it needs is missing.
    """
    if form in OF_ONE and submissions != 1:
        raise ValueError(gradescope.refusal(form, submissions))
    if form == "html":
        html_report.environment()


def filled(export: Path, assignment: str | None = None) -> Callable[[Run, Path], None]:
    """Return the csv report that fills a gradebook; see `grader.reports.gradebook.writer`."""
    return gradebook.writer(export, assignment)
