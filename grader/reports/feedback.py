"""The feedback report: an archive of a page for each student, as platforms take it back."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from grader.reports import zipped
from grader.reports.html_report import environment, file_names, page_of
from grader.reports.in_short import as_plain_text
from grader.reports.text import shown
from grader.reports.visible import for_students
from grader.reports.way_back import ARCHIVE, PAGE, ways_back
from grader.results import Run, SubmissionResult


def write(run: Run, path: Path) -> None:
    """Write the archive; the same run gives the same bytes.

    Raises:
        ValueError: jinja2 is missing.
    """
    pages = environment()
    told = for_students(run).submissions
    members = {
        member: _as(kind, submission, page_of(pages, run, submission))
        for member, (submission, kind) in ways_back(told, file_names(told)).items()
    }
    path.write_bytes(_archive(members))


def _as(kind: str, submission: SubmissionResult, page: str) -> bytes:
    """Write a submission's feedback as a file of a kind: its page, or what can be opened so."""
    if kind == ".py":
        lines = _text(submission).splitlines()
        return "".join(f"# {line}".rstrip() + "\n" for line in lines).encode()
    if kind == ".ipynb":
        return _notebook(_text(submission))
    return _archive({PAGE: page.encode()}) if kind == ARCHIVE else page.encode()


def _text(submission: SubmissionResult) -> str:
    if submission.problem:
        return f"This submission could not be graded: {shown(submission.problem)}"
    return as_plain_text(submission)


def _notebook(text: str) -> bytes:
    """Return a notebook with a text, as it is, in its one cell."""
    cell = {"cell_type": "raw", "metadata": {}, "source": text}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(book, indent=1).encode()


def _archive(members: Mapping[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in members.items():
            zipped.add(archive, name, data)
    return whole.getvalue()
