"""What Canvas and Moodle export: recognised by the header, read as students and grades.

Any other table with names, or with what identifies people, tells who is in the course.
"""

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
# titles of columns in a table of one's own, in small letters, in English and in German
NAMES = ("name", "full name", "student", "student name", "vollständiger name")
GIVEN = ("first name", "firstname", "given name", "first", "vorname", "vornamen")
FAMILY = ("last name", "lastname", "family name", "surname", "last", "nachname", "familienname")
OWN_IDENTIFIERS = (
    "id", "number", "student id", "student number", "matriculation number", "login", "username",
    "user", "email", "e-mail", "mail", "email address", "github", "id-nummer", "matrikelnummer",
    "matrikelnr.", "matr.-nr.", "matrikel", "anmeldename", "benutzername", "kennung",
    "e-mail-adresse", "e-mailadresse", "emailadresse",
)  # fmt: skip
# whom Canvas adds to every gradebook that an instructor has seen as students do
TEST_STUDENT = "Student, Test"
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
    if _is_moodles(cells):
        return _moodle(cells)
    if _is_canvas(cells):
        return _canvas(cells, assignment)
    raise ValueError(
        f"{path} is neither Canvas's gradebook (Student, ID, Section, ...) nor Moodle's grading "
        "worksheet in English (Identifier, Full name, Grade, Maximum Grade, ...): a table that "
        "only says who is in the course goes to --roster"
    )


def read_roster(path: Path) -> Roster:
    """Read who is in a course: from an export, or from any table whose first row names columns.

    Raises:
        OSError: it cannot be read.
        ValueError: no column says who anybody is.
    """
    cells = sheet.read(path)
    if _is_moodles(cells):
        return _moodle(cells).roster
    if _is_canvas(cells):
        return Roster(_canvas_students(cells, _points_row(cells) or 0))
    identifying = _called(cells, OWN_IDENTIFIERS)
    name, given, family = (
        next(iter(_called(cells, titles)), None) for titles in (NAMES, GIVEN, FAMILY)
    )
    alone = given is not None and family is None
    if alone and name is not None and cells.header[name].casefold() == "name":
        name, family = None, name  # as in Name;Vorname
    if name is None and family is None and not identifying:
        raise ValueError(
            f"{path}: its first row has to name columns, such as name, email or login, "
            f"and not {', '.join(cells.header)}"
        )
    students = []
    for row in range(1, len(cells.rows)):
        both = [cells.value(row, family), cells.value(row, given)]
        own = tuple(filter(None, (cells.value(row, column) for column in identifying)))
        called = cells.value(row, name) or ", ".join(filter(None, both)) or next(iter(own), "")
        if called:
            number = next((text for text in own if text.isdigit()), "")
            students.append(Student(row, number, own, called))
    return Roster(students)


def _called(cells: Sheet, titles: tuple[str, ...]) -> list[int]:
    """List the columns that have these titles, in their order, whatever the case."""
    header = [title.casefold() for title in cells.header]
    return [header.index(title) for title in titles if title in header]


def _is_moodles(cells: Sheet) -> bool:
    return {"Identifier", "Grade", "Maximum Grade"} <= set(cells.header)


def _is_canvas(cells: Sheet) -> bool:
    header = set(cells.header)
    return {"ID", "Section"} <= header and bool({"Student", "LastName"} & header)


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
    points = _points_row(cells)
    if points is None:
        raise ValueError("the gradebook has no row `Points Possible`: export it from Canvas again")
    column = _assignment(cells, points, assignment)
    worth = _number(cells.value(points, column))
    if not worth:
        raise ValueError(f"{cells.header[column]} has no points in Canvas: give it some there")
    students = _canvas_students(cells, points)
    comma = "," in cells.value(points, column)
    return Export(cells, column, {s.row: worth for s in students}, comma, Roster(students))


def _points_row(cells: Sheet) -> int | None:
    rows = range(1, len(cells.rows))
    return next((row for row in rows if "Points Possible" in cells.value(row, 0)), None)


def _canvas_students(cells: Sheet, points: int) -> list[Student]:
    """List those below the row of points."""
    names = {row: _canvas_name(cells, row) for row in range(points + 1, len(cells.rows))}
    return [
        Student(row, cells.value(row, _column(cells, "ID")),
                _identifiers(cells, row), name, name != TEST_STUDENT)
        for row, name in names.items()
    ]  # fmt: skip


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
