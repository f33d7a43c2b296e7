"""When a week was handed in: as a table says, or as the files themselves do."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.course.tables import CourseError
from grader.reports.sheet import delimiter_of

COLUMNS = ("id", "time")


class Times:
    """When who handed in which chapter.

    Args:
        by_chapter: for each student the moments by chapter; "" stands for all of them.
        name: of the table that says so; nothing if it is the files themselves.
    """

    def __init__(self, by_chapter: Mapping[str, Mapping[str, dt.datetime]], name: str = "") -> None:
        self._by_chapter, self.name = by_chapter, name

    def by_identity(self, meant: Mapping[str, str]) -> Times:
        """Return the same by what submissions are called.

        Args:
            meant: for each what it is called here.
        """
        found = {identity: self._by_chapter[said] for identity, said in meant.items()}
        return Times(found, self.name)

    @property
    def students(self) -> tuple[str, ...]:
        """Those of whom something is known."""
        return tuple(self._by_chapter)

    def of(self, student: str, exercises: Sequence[str]) -> dt.datetime | None:
        """Return when the last of some exercises was handed in; None if nothing is known."""
        known = self._by_chapter.get(student, {})
        stems = {name.partition(".")[0] for name in exercises}
        found = [known.get(stem, known.get("")) for stem in sorted(stems)]
        return max((moment for moment in found if moment is not None), default=None)


def from_table(path: Path) -> Times:
    """Read a csv file with the columns `id` and `time`, and `chapter` where they differ.

    Raises:
        CourseError: it cannot be read, lacks a column, or a time is none.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.DictReader(file, delimiter=delimiter_of(first))
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise CourseError(f"{path} cannot be read: {problem}") from problem
    if missing:
        raise CourseError(f"{path} has no column `{missing[0]}`: it needs {' and '.join(COLUMNS)}")
    found: dict[str, dict[str, dt.datetime]] = {}
    for number, row in enumerate(rows, start=2):
        moment = _moment(row["time"] or "", f"{path}, line {number}")
        found.setdefault(row["id"] or "", {})[row.get("chapter") or ""] = moment
    return Times(found, path.name)


def _moment(said: str, where: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(said.strip().replace("Z", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CourseError(
            f"{where}: `{said}` is no time with its distance from UTC, "
            "as in 2026-10-05T23:59:00+02:00"
        )
    return moment
