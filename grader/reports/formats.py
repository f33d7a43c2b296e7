"""The formats of reports, by the name that `--report FORMAT=FILE` gives them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from grader.reports import (
    class_report,
    classroom,
    csv_report,
    feedback,
    gradescope,
    html_report,
    json_report,
    moved,
    similar,
)
from grader.reports import junit as junit_report
from grader.results import Run

FORMATS: dict[str, Callable[[Run, Path], None]] = {
    "json": json_report.write,
    "json1": json_report.write_first,
    "csv": csv_report.write,
    "html": html_report.write,
    "class": class_report.write,
    "feedback": feedback.write,
    "similar": similar.write,
    "junit": junit_report.write,
    "gradescope": gradescope.write,
    "classroom": classroom.write,
}
OF_ONE = frozenset({"gradescope", "classroom"})
NO_REPORT = frozenset({".py", ".ipynb", ".toml", ".db", ".sqlite", ".md"})
JSON = frozenset({"json", "json1", "class", "similar"})


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
    if form in ("html", "feedback"):
        html_report.environment()


def refuse_name(form: str, file: Path) -> None:
    """Say that a file's name would mislead whoever opens it, or is that of something to be kept.

    Raises:
        ValueError: the format is JSON, and the name that of a page or a table; or no report is
            called so.
    """
    if file.suffix.lower() in NO_REPORT:
        raise ValueError(f"no report is called `{file.suffix}`: {file} may be somebody's work")
    if form in JSON and file.suffix.lower() in (".html", ".htm", ".csv"):
        raise ValueError(
            f"`{form}` is JSON: call it {file.with_suffix('.json').name}; "
            f"`html` writes a page and `csv` a table"
        )


def since(
    earlier: Path, wanted: set[str], submissions: int
) -> dict[str, Callable[[Run, Path], None]]:
    """Return the formats that tell whose grade has moved since an earlier json report.

    Args:
        earlier: the report.
        wanted: the formats that are asked for.
        submissions: how many there are to grade: html compares those of an index only.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such report, or nothing that is asked for would tell.
    """
    if not wanted & {"class", "html" if submissions > 1 else "class"}:
        raise ValueError(
            "--since is told by the class report, and by html of several submissions: "
            "add --report class=FILE"
        )
    scores = moved.read(earlier)
    return {
        "html": partial(html_report.write, earlier=scores),
        "class": partial(class_report.write, earlier=scores),
    }


def comparing(page: Callable[..., None]) -> dict[str, Callable[[Run, Path], None]]:
    """Return the formats that tell whose answers are alike; they are compared once for both.

    Args:
        page: writes the html report.
    """
    seen: list[similar.Similar] = []

    def compare(run: Run) -> similar.Similar:
        if not seen:
            seen.append(similar.found(run))
        return seen[0]

    return {
        "html": partial(page, compare=compare),
        "similar": partial(similar.write, compare=compare),
    }
