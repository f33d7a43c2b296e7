"""The csv report as a gradebook: Canvas's or Moodle's own export with the grades filled in.

Moodle's worksheet may have a column for a text to each student: where it is still empty, it gets
the feedback in short. Points are scaled to what the gradebook says the assignment is worth. A
submission that could not be graded, or whose student is in doubt, leaves the gradebook as it was,
and is named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from grader.reports.in_short import as_html, in_short
from grader.reports.platforms import Export
from grader.reports.roster import Student
from grader.reports.text import for_log, one_line
from grader.reports.visible import for_students
from grader.results import Run, SubmissionResult, number

LOCKED = ("EX", "N/A")


def writer(gradebook: Export) -> Callable[[Run, Path], None]:
    """Return what writes an export filled; the notes go to stderr.

    Args:
        gradebook: as downloaded from Canvas or Moodle.
    """

    def write(run: Run, path: Path) -> None:
        data, notes = fill(gradebook, run)
        path.write_bytes(data)
        for note in (*notes, *absent(gradebook, run)):
            print(for_log(f"{path.name}: {note}"), file=sys.stderr)

    return write


def fill(export: Export, run: Run) -> tuple[bytes, list[str]]:
    """Return the filled export, and a sentence for each submission that is not in it."""
    values: dict[tuple[int, int], str] = {}
    owners, notes = _owners(export, for_students(run))
    graded = []
    for student, submission in owners:
        kept = _kept(export, student, submission)
        if kept:
            notes.append(_note(submission, kept))
        else:
            grade = submission.final / submission.maximum * export.worth[student.row]
            values[student.row, export.column] = _written(grade, export.comma)
            graded.append((student, submission))
    worth = sorted({export.worth[row] for row, _ in values})
    scaled = "".join(f", out of {number(points):g}" for points in worth)
    notes.append(f"{len(values)} of {len(export.roster.students)} students filled in{scaled}")
    if export.feedback is not None:
        texts = _comments(export, export.feedback, graded)
        values |= texts
        there = len(graded) - len(texts)
        stays = f"; {there} had one already, which stays: empty the cell to have it filled"
        notes.append(f"feedback comments written: {len(texts)}{stays if there else ''}")
    return export.sheet.changed(values), notes


def _comments(
    export: Export, column: int, graded: Sequence[tuple[Student, SubmissionResult]]
) -> dict[tuple[int, int], str]:
    """Write the feedback of each student who has none yet: what is there may be a person's."""
    cells = export.sheet
    return {
        (student.row, column): as_html(in_short(submission))
        for student, submission in graded
        if len(cells.rows[student.row]) > column and not cells.value(student.row, column)
    }


def absent(export: Export, run: Run) -> list[str]:
    """Say who of the gradebook has handed in nothing; no sentence if nobody has."""
    names = export.roster.absent(one.identity for one in run.submissions)
    return [f"handed in nothing: {'; '.join(map(one_line, names))}"] if names else []


def _owners(export: Export, run: Run) -> tuple[list[tuple[Student, SubmissionResult]], list[str]]:
    """Pair students and submissions; a student with two that could be graded has none."""
    known: dict[int, list[tuple[Student, SubmissionResult]]] = {}
    notes = []
    for submission in run.submissions:
        who = export.roster.find(submission.identity)
        if isinstance(who, Student):
            known.setdefault(who.row, []).append((who, submission))
        else:
            notes.append(_note(submission, who))
    pairs = []
    for alike in known.values():
        graded = [pair for pair in alike if not pair[1].problem] or alike[:1]
        pairs += graded if len(graded) == 1 else []
        if len(graded) > 1:
            twice = f"{len(graded)} submissions are of the same student"
            notes += [_note(submission, twice) for _, submission in graded]
    return pairs, notes


def _kept(export: Export, student: Student, submission: SubmissionResult) -> str:
    """Say why a student's cell stays as it is; nothing if it does not."""
    if submission.problem:
        return "it could not be graded"
    if not submission.maximum:
        return "nothing of its score was graded, only what lies beyond the seven chapters"
    if len(export.sheet.rows[student.row]) <= export.column:
        return "the student's row ends before the grade"
    if student.row not in export.worth:
        return "the gradebook does not say how much the grade is out of"
    old = export.sheet.value(student.row, export.column)
    return f"the gradebook says {old}" if old.upper() in LOCKED else ""


def _written(grade: Fraction, comma: bool) -> str:
    text = f"{float(round(grade * 100)) / 100:.2f}"
    return text.replace(".", ",") if comma else text


def _note(submission: SubmissionResult, why: str) -> str:
    return f"{one_line(submission.identity)} is not filled in: {one_line(why)}"
