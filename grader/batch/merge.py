"""The `merge` command: from results files to a table and reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.batch.by_course import course_for, scored
from grader.batch.join import differing_machines, joined
from grader.batch.parts import part_in
from grader.batch.wanted import Wanted, reports_for
from grader.chapters import catalogue
from grader.reports import table
from grader.reports.text import tell


def merge(results: Sequence[Path], wanted: Wanted, partial: bool) -> int:
    """Merge and report; the exit status is 1 if somebody could not be graded, or is missing.

    Args:
        results: the files.
        wanted: the reports.
        partial: whether parts may be missing.

    Raises:
        ValueError: arguments that make no sense, or results that cannot be one run.
        OSError: a file cannot be read, or a report not be written.
    """
    found = {path: part_in(path) for path in results}
    begun = [part for part in found.values() if part is not None]
    for path in (path for path, part in found.items() if part is None):
        says = f"{path} holds no run yet: grade into it first"
        if not partial or not begun:
            raise ValueError(says)
        tell(says)
    if any(part.record.duplicates == "best" for part in begun):
        raise ValueError(
            "these results were graded with --duplicates best, and hold all that was handed in: "
            "`grade` again with the same --results makes any report, and grades nothing anew"
        )
    run, gaps = joined(begun, partial)
    reports = reports_for(wanted, len(run.submissions))
    reports.refuse_overwriting((*wanted.read, *results))
    known = catalogue()
    course = course_for(wanted.course, wanted.rules, (), known)
    if course is None:
        for name in dict.fromkeys(part.record.course for part in begun if part.record.course):
            tell(f"scores are the kit's own: say --course FILE to score by {name} again")
    named = begun[0].record.exercises
    run = scored(course, run, [one for one in known.exercises() if one.full in named])
    run = reports.with_absent(run)
    tell(*differing_machines(begun), *map(str, gaps), *reports.in_doubt(run))
    try:
        reports.write(run)
    finally:  # in this order: nobody may read on what is printed
        table.show(run)
    if any(part.record.in_vain for part in begun):
        return 2  # as the parts have ended
    return int(bool(gaps) or any(submission.problem for submission in run.submissions))
