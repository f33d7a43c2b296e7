"""The reports that were asked for: what must fail fails before anything is graded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.reports import gradebook
from grader.reports.formats import FORMATS, comparing, refuse_early, refuse_name, since
from grader.reports.platforms import read, read_roster
from grader.reports.roster import Roster
from grader.results import Run

Writer = Callable[[Run, Path], None]


@dataclass(frozen=True)
class Wanted:
    """What is to be made of results, as given.

    Attributes:
        reports: each FORMAT=FILE.
        gradebook: the export that the csv report fills; it says who is in the course, too.
        assignment: its column, where there are several.
        roster: any table of who is in the course.
        since: an earlier json report, to say whose grade has moved.
        course: the file of a course's rules.
        rules: single rules, each KEY=VALUE, over those of the file.
    """

    reports: Sequence[str] = ()
    gradebook: Path | None = None
    assignment: str | None = None
    since: Path | None = None
    course: Path | None = None
    rules: Sequence[str] = ()
    roster: Path | None = None

    @property
    def read(self) -> tuple[Path | None, ...]:
        """The files that it is made from, but for an earlier report: a new one may follow that."""
        return self.gradebook, self.roster, self.course

    @property
    def compares(self) -> bool:
        """Whether answers are to be compared with one another."""
        return any(text.startswith("similar=") for text in self.reports)

    @property
    def is_for_one(self) -> bool:
        """Whether a report is of one submission, for a platform that hands over no more."""
        return any(text.startswith(("gradescope=", "classroom=")) for text in self.reports)


@dataclass(frozen=True)
class Reports:
    """What is to be written, by whom.

    Attributes:
        writers: for each report.
        roster: who is in the course, if anybody has said so.
        table: the name of the table that says so; nothing if it is a gradebook.
    """

    writers: Sequence[tuple[Writer, Path]]
    roster: Roster | None
    table: str = ""

    def refuse_overwriting(self, read: Iterable[Path | None]) -> None:
        """Say that a report would take the place of another one, or of what it is made from.

        Args:
            read: the files that the command reads, or keeps results in.

        Raises:
            ValueError: a sentence says which.
        """
        seen = {path.resolve() for path in read if path is not None}
        for _, path in self.writers:
            place = path.resolve()
            if place in seen:
                raise ValueError(
                    f"the report {path} would take the place of a file that this command reads, or "
                    "of another report: give it a name of its own"
                )
            seen.add(place)

    def write(self, run: Run) -> None:
        """Write all of it; what cannot be written costs no other report.

        Raises:
            Exception: the first that was raised.
        """
        problems = []
        for write, path in self.writers:
            try:
                write(run, path)
            except Exception as problem:
                problems.append(problem)
        if problems:
            raise problems[0]

    def with_absent(self, run: Run, elsewhere: Sequence[str] = ()) -> Run:
        """Return a run that knows who of the course is not in it.

        Args:
            run: of all, or of a part.
            elsewhere: the identities of those in other parts.
        """
        if self.roster is None:
            return run
        there = [*(one.identity for one in run.submissions), *elsewhere]
        return replace(run, absent=tuple(self.roster.absent(there)))

    def in_doubt(self, run: Run) -> list[str]:
        """Say which submissions are of nobody on a roster: who is absent may be one of these.

        A gradebook's own report says it.
        """
        if self.roster is None or not self.table:
            return []
        found = {one.identity: self.roster.find(one.identity) for one in run.submissions}
        return [
            f"{identity} is matched with nobody of {self.table}: {why}"
            for identity, why in found.items()
            if isinstance(why, str)
        ]


def reports_for(asked: Wanted, submissions: int) -> Reports:
    """Say for every report who writes it and where to, and read what that takes.

    Args:
        asked: which reports, and how.
        submissions: how many there are.

    Raises:
        ValueError: something that will not do; a sentence says what.
        OSError: an earlier report cannot be read.
    """
    forms = dict(FORMATS)
    wanted = [_parts(text) for text in asked.reports]
    if asked.since is not None:
        forms |= since(asked.since, {form for form, _ in wanted}, submissions)
    if asked.compares:
        forms |= comparing(forms["html"])
    roster = None if asked.roster is None else read_roster(asked.roster)
    table = "" if asked.roster is None else asked.roster.name
    if asked.gradebook is not None:
        if not {"csv", "html", "class", "json"} & {form for form, _ in wanted}:
            raise ValueError(
                "--gradebook fills the csv report; html, class and json name who of it is absent: "
                "add --report csv=FILE"
            )
        export = read(asked.gradebook, asked.assignment)
        forms["csv"] = gradebook.writer(export)
        roster = roster or export.roster
    return Reports(list(_writers(wanted, forms, submissions)), roster, table)


def _writers(
    wanted: Sequence[tuple[str, str]], forms: Mapping[str, Writer], submissions: int
) -> Iterator[tuple[Writer, Path]]:
    for form, file in wanted:
        if form not in forms:
            raise ValueError(f"there is no report format `{form}`; there is {', '.join(forms)}")
        refuse_early(form, submissions)
        path = Path(file)
        refuse_name(form, path)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise ValueError(f"the report cannot be written to {file}: no such folder, or a folder")
        if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            raise ValueError(f"the report cannot be written to {file}: that is not allowed")
        yield forms[form], path


def _parts(text: str) -> tuple[str, str]:
    form, separator, file = text.partition("=")
    if not separator or not file:
        raise ValueError(f"--report takes FORMAT=FILE, as in json=scores.json, not `{text}`")
    return form, file
