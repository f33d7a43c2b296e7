"""When a week was handed in: as a table says, or as the files themselves do."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader import naming
from grader.course.tables import CourseError
from grader.reports import sheet

COLUMNS = ("id", "time")


class Times:
    """When who handed in which chapter.

    Args:
        by_chapter: for each student the moments by chapter; "" stands for all of them.
        name: of the table that says so; nothing if it is the files themselves.
        several: those for whom it says several for one chapter, as for several attempts.
    """

    def __init__(
        self,
        by_chapter: Mapping[str, Mapping[str, dt.datetime]],
        name: str = "",
        several: Sequence[str] = (),
    ) -> None:
        self._by_chapter, self.name, self.several = by_chapter, name, several

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


def from_table(path: Path, stems: Sequence[str]) -> Times:
    """Read a csv file with the columns `id` and `time`, and `chapter` where they differ.

    Of several attempts the latest counts, as it is what was handed in in the end.

    Args:
        path: of the file.
        stems: the chapters, in order; the table may call them as people do.

    Raises:
        CourseError: it cannot be read, lacks a column, or a time or a chapter is none.
    """
    try:
        cells = sheet.read(path)
    except OSError as problem:
        raise CourseError(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except ValueError as problem:
        raise CourseError(str(problem)) from problem
    place = {title.casefold(): column for column, title in enumerate(cells.header)}
    missing = [name for name in COLUMNS if name not in place]
    if missing:
        raise CourseError(f"{path} has no column `{missing[0]}`: it needs {' and '.join(COLUMNS)}")
    found: dict[str, dict[str, dt.datetime]] = {}
    several: dict[str, None] = {}
    for row in range(1, len(cells.rows)):
        student, time, chapter = (cells.value(row, place.get(c)) for c in (*COLUMNS, "chapter"))
        try:
            moment = _moment(time)
            chapters = naming.chapters(chapter, stems) if chapter else [""]
        except (LookupError, ValueError) as problem:
            raise CourseError(f"{path}, line {cells.line(row)}: {problem.args[0]}") from problem
        known = found.setdefault(student, {})
        for stem in chapters:
            if known.setdefault(stem, moment) != moment:
                several[student] = None
                known[stem] = max(known[stem], moment)
    return Times(found, path.name, tuple(several))


def _moment(said: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(said.replace("Z", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError(
            f"`{said}` is no time with its distance from UTC, as in 2026-10-05T23:59:00+02:00"
        )
    return moment
