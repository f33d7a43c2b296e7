"""Reading `course.toml`: every key is checked, and what is wrong with one is said in a sentence."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from grader import naming
from grader.course.overlay import over
from grader.course.tables import MOST_DAYS, CourseError, Table, parsed
from grader.course.times import Times, from_table
from grader.results import MESSAGES, Messages

NAME = "course.toml"
FOLLOW_THROUGH = {"none": Fraction(0), "half": Fraction(1, 2), "full": Fraction(1)}
# each chapter's stem with the names of its functions
Names = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Week:
    """A part of the course that is handed in together.

    Attributes:
        title: as people call it.
        exercises: those that count, by full names.
        weight: the points that they bring together; None: those of the kit.
        deadline: until when; None: at any time.
    """

    title: str
    exercises: tuple[str, ...]
    weight: Fraction | None = None
    deadline: dt.datetime | None = None


@dataclass(frozen=True)
class Late:
    """What a late week loses.

    Attributes:
        per_day: percent of what it earned, for each day that has begun.
        most: percent that are lost at most.
        grace: what is not late yet.
        days: after so many nothing counts; None: it always does.
    """

    per_day: Fraction = Fraction(0)
    most: Fraction = Fraction(100)
    grace: dt.timedelta = dt.timedelta()
    days: int | None = None


@dataclass(frozen=True)
class Course:
    """What a `course.toml` says.

    Attributes:
        weeks: the parts, in order; none: all of the kit, as one.
        late: what a late week loses.
        extensions: how much longer a student has, by the week's place, from 1; 0: for every week.
        handed_in: when who handed in, as a table says; None: the files' own times.
        follow_through: how much of what a function would earn if the earlier ones were right.
        pass_mark: percent of the points that are enough; None: none is set.
        messages: what of them students see.
        columns: names for columns of the csv report.
        name: of the file that says it; nothing if there are only single rules.
    """

    weeks: tuple[Week, ...] = ()
    late: Late = field(default_factory=Late)
    extensions: Mapping[str, Mapping[int, dt.timedelta]] = field(default_factory=dict)
    handed_in: Times | None = None
    follow_through: Fraction = Fraction(0)
    pass_mark: Fraction | None = None
    messages: Messages = "all"
    columns: Mapping[str, str] = field(default_factory=dict)
    name: str = ""

    @property
    def exercises(self) -> tuple[str, ...]:
        """Those that count, by full names; none: all."""
        return tuple(name for week in self.weeks for name in week.exercises)

    @property
    def makes_points(self) -> bool:
        """Whether its scores may be others than the kit's."""
        return bool(self.weeks or self.follow_through)

    @property
    def has_deadlines(self) -> bool:
        """Whether it matters when something was handed in."""
        return any(week.deadline is not None for week in self.weeks)


def read(path: Path | None, known: Names, rules: Sequence[str] = ()) -> Course:
    """Read a course's rules.

    Args:
        path: of the file; None if there are only single rules.
        known: each chapter's stem with the names of its functions.
        rules: single ones, `KEY=VALUE`, which count over those of the file.

    Raises:
        CourseError: a sentence says what is wrong, and where.
    """
    said = over({} if path is None else _tables(path), rules)
    table = Table(said, "--rule" if path is None else path.name)
    course = Course(
        weeks=_weeks(table.tables("week"), known),
        late=_late(table.table("late")),
        extensions=_extensions(table.table("extensions")),
        handed_in=_times(path, table.text("handed_in"), list(known)),
        follow_through=FOLLOW_THROUGH[table.one_of("follow_through", tuple(FOLLOW_THROUGH))],
        pass_mark=table.number("pass_mark", most=100),
        messages=table.one_of("messages", MESSAGES),
        columns=table.texts("columns"),
        name="" if path is None else path.name,
    )
    table.end()
    _refuse_late_alone(course, "late" in said or "extensions" in said, table.where)
    _refuse_other_weeks(course, table.where)
    return course


def named_table(path: Path | None, rules: Sequence[str] = ()) -> Path | None:
    """Return the table of times that rules name; None if they name none or cannot be read.

    Args:
        path: of the file; None if there are only single rules.
        rules: single ones, which count over those of the file.
    """
    try:
        name = over({} if path is None else _tables(path), rules).get("handed_in")
    except CourseError:
        return None
    return _beside(path, name) if isinstance(name, str) else None


def _tables(path: Path) -> dict[str, Any]:
    try:
        return parsed(path.read_text(encoding="utf-8-sig"))
    except OSError as problem:
        raise CourseError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:
        raise CourseError(f"{path} is no TOML file: {problem}") from problem


def _weeks(tables: Sequence[Table], known: Names) -> tuple[Week, ...]:
    weeks: list[Week] = []
    of: dict[str, int] = {}
    for place, table in enumerate(tables, start=1):
        names = table.names("chapters")
        try:
            exercises = _selected(names, known)
        except (LookupError, ValueError) as problem:
            raise CourseError(f"{table.where}: chapters: {problem.args[0]}") from problem
        for name in exercises:
            if of.setdefault(name, place) != place:
                raise CourseError(f"{table.where}: {name} counts already in week {of[name]}")
        weight, deadline = table.number("weight"), table.moment("deadline")
        weeks.append(Week(table.text("title") or f"week {place}", exercises, weight, deadline))
        table.end()
    return tuple(weeks)


def _selected(said: Sequence[str], known: Names) -> tuple[str, ...]:
    each = (one for name in said for one in naming.spelled_out(name, list(known)))
    return tuple(dict.fromkeys(full for one in each for full in naming.select(one, known)))


def _late(table: Table) -> Late:
    per_day, most = table.number("per_day", most=100), table.number("most", most=100)
    minutes = table.number("grace_minutes", most=MOST_DAYS * 24 * 60) or Fraction(0)
    days = table.whole("days")
    table.end()
    return Late(
        per_day or Fraction(0), Fraction(100) if most is None else most,
        dt.timedelta(minutes=float(minutes)), days,
    )  # fmt: skip


def _extensions(table: Table) -> dict[str, dict[int, dt.timedelta]]:
    found: dict[str, dict[int, dt.timedelta]] = {}
    for student in table.own_keys():
        weeks = table.days(student)
        found[student] = {week: dt.timedelta(days=float(days)) for week, days in weeks.items()}
    return found


def _times(path: Path | None, name: str | None, stems: Sequence[str]) -> Times | None:
    return None if name is None else from_table(_beside(path, name), stems)


def _beside(path: Path | None, name: str) -> Path:
    """Return what lies beside the rules, or here if these are single ones."""
    return (Path() if path is None else path.parent) / name


def _refuse_other_weeks(course: Course, where: str) -> None:
    for student, weeks in course.extensions.items():
        for week in weeks:
            if week > len(course.weeks):
                raise CourseError(
                    f"{where}: [extensions] {student}: there is no week {week}, "
                    f"the last one is week {len(course.weeks)}"
                )


def _refuse_late_alone(course: Course, rules: Any, where: str) -> None:
    if rules and not course.has_deadlines:
        raise CourseError(
            f"{where}: it has rules for what is late, and no deadline: give a [[week]] one, "
            "as in deadline = 2026-10-05T23:59:00+02:00"
        )
