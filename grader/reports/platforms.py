"""What Canvas and Moodle export: recognised by the header, read as students and grades."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from grader.reports import sheet
from grader.reports.roster import Roster, Student
from grader.reports.sheet import Sheet

IDENTIFIERS = ("ID", "SIS User ID", "SIS Login ID", "Integration ID", "ID number", "Username",
               "Email address")  # fmt: skip
ASSIGNMENT = re.compile(r".+ \(\d+\)")


@dataclass(frozen=True)
class Export:
    """An export of a platform.

    Attributes:
        sheet: its cells.
        column: where the grades go.
        worth: what each student's grade is out of, by row.
        comma: whether numbers are written with one.
        roster: the students.
        feedback: where a text for each student goes, if there is such a column.
    """

    sheet: Sheet
    column: int
    worth: dict[int, Fraction]
    comma: bool
    roster: Roster
    feedback: int | None = None


def read(path: Path, assignment: str | None = None) -> Export:
    """Read an export; its header tells whose it is.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such export, or the assignment is in doubt.
    """
    cells = sheet.read(path)
    header = cells.header
    if {"Identifier", "Grade", "Maximum Grade"} <= set(header):
        return _moodle(cells)
    if {"ID", "Section"} <= set(header) and ({"Student", "LastName"} & set(header)):
        return _canvas(cells, assignment)
    raise ValueError(
        f"{path} is neither Canvas's gradebook (Student, ID, Section, ...) nor Moodle's grading "
        "worksheet in English (Identifier, Full name, Grade, Maximum Grade, ...)"
    )


def _moodle(cells: Sheet) -> Export:
    worth = _column(cells, "Maximum Grade")
    rows = range(1, len(cells.rows))
    numbers = {row: _number(cells.value(row, worth)) for row in rows}
    students = [
        Student(row, _last_digits(cells.value(row, _column(cells, "Identifier"))),
                _identifiers(cells, row), cells.value(row, _column(cells, "Full name")))
        for row in rows
    ]  # fmt: skip
    column = _column(cells, "Grade")
    assert column is not None
    comma = any("," in cells.value(row, worth) for row in rows)
    known = {row: value for row, value in numbers.items() if value}
    return Export(
        cells, column, known, comma, Roster(students), _column(cells, "Feedback comments")
    )


def _canvas(cells: Sheet, assignment: str | None) -> Export:
    rows = range(1, len(cells.rows))
    points = next((row for row in rows if "Points Possible" in cells.value(row, 0)), None)
    if points is None:
        raise ValueError("the gradebook has no row `Points Possible`: export it from Canvas again")
    column = _assignment(cells, points, assignment)
    worth = _number(cells.value(points, column))
    if not worth:
        raise ValueError(f"{cells.header[column]} has no points in Canvas: give it some there")
    students = [
        Student(row, cells.value(row, _column(cells, "ID")),
                _identifiers(cells, row), _canvas_name(cells, row))
        for row in rows
        if row > points
    ]  # fmt: skip
    comma = "," in cells.value(points, column)
    return Export(cells, column, {s.row: worth for s in students}, comma, Roster(students))


def _assignment(cells: Sheet, points: int, wanted: str | None) -> int:
    """Find the assignment's column.

    Raises:
        ValueError: none or several are called so; a title of our own would make a new one.
    """
    titles = {
        column: title
        for column, title in enumerate(cells.header)
        if ASSIGNMENT.fullmatch(title) and not cells.value(points, column).startswith("(")
    }
    known = ", ".join(f"`{title}`" for title in titles.values()) or "none"
    if wanted is None and len(titles) != 1:
        raise ValueError(f"name the assignment with --assignment: the gradebook has {known}")
    meant = [
        column
        for column, title in titles.items()
        if wanted is None or wanted.casefold() in _names(title)
    ]
    if len(meant) != 1:
        which = "no" if not meant else "more than one"
        raise ValueError(f"{which} assignment is called `{wanted}`: the gradebook has {known}")
    return meant[0]


def _names(title: str) -> tuple[str, str]:
    return title.casefold(), title.rpartition(" (")[0].casefold()


def _canvas_name(cells: Sheet, row: int) -> str:
    last, first = _column(cells, "LastName"), _column(cells, "FirstName")
    if last is None:
        return cells.value(row, _column(cells, "Student"))
    return f"{cells.value(row, last)}, {cells.value(row, first)}"


def _identifiers(cells: Sheet, row: int) -> tuple[str, ...]:
    found = (cells.value(row, _column(cells, title)) for title in IDENTIFIERS)
    return tuple(filter(None, found))


def _column(cells: Sheet, title: str) -> int | None:
    return cells.header.index(title) if title in cells.header else None


def _last_digits(text: str) -> str:
    found = re.search(r"\d+$", text)
    return found[0] if found else ""


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text.replace(",", "."))
    except (ValueError, ZeroDivisionError):
        return None
