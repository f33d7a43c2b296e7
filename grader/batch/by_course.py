"""A course's rules for a batch: where they are found, and what they make of its results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from grader.batch.handed_in import times_of_files
from grader.batch.names import listed
from grader.batch.submissions import Submission
from grader.chapters import Catalogue, Exercise
from grader.course.rules import applied, total, unknown_students
from grader.course.settings import NAME, Course, named_table, read
from grader.course.tables import CourseError, did_you_mean
from grader.course.times import Times
from grader.naming import in_words
from grader.reports import csv_report
from grader.reports.text import tell
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult
from grader.whose import meant_by


def course_for(
    asked: Path | None, rules: Sequence[str], folders: Sequence[Path], known: Catalogue
) -> Course | None:
    """Read the rules that are asked for, or that lie in a folder of submissions.

    Args:
        asked: the file, if it is named.
        rules: single ones, which count over those of the file.
        folders: those that hold submissions, and are none: in one that is, they would be of the
            student's making.
        known: the chapters.

    Raises:
        CourseError: they cannot be read, or there are several.
    """
    found = [folder / NAME for folder in folders if (folder / NAME).is_file()]
    if asked is None and len(found) > 1:
        raise CourseError(f"{found[0]} and {found[1]}: say --course FILE which one counts")
    path = asked or next(iter(found), None)
    if path is None and not rules:
        return None
    if path is not None and asked is None:
        tell(f"by the rules of {path}")
    return read(path, known.names(), rules)


def tables_of_times(
    asked: Path | None, rules: Sequence[str], folders: Sequence[Path]
) -> list[Path]:
    """List the tables that rules name, while it is not known yet which rules count.

    Args:
        asked: the file, if it is named.
        rules: single ones, which count over those of the file.
        folders: those that may hold one.
    """
    here = [folder / NAME for folder in folders if os.path.isfile(folder / NAME)]
    files: Sequence[Path | None] = [asked] if asked else here or [None]
    found = (named_table(file, rules) for file in files)
    return [table for table in found if table is not None]


def scored(
    course: Course | None,
    run: Run,
    exercises: Sequence[Exercise],
    submissions: Sequence[Submission] | None = None,
) -> Run:
    """Let the rules make scores of results.

    Args:
        course: the rules, if there are any.
        run: the results.
        exercises: what was graded.
        submissions: those that were graded; None if they are not at hand.

    Raises:
        CourseError: it has to be known when something was handed in, and cannot be.
    """
    out_of = _out_of(course, exercises)
    told = (
        replace(one, out_of=out_of) if one.problem else _with_not_begun(course, one, exercises)
        for one in run.submissions
    )
    run = replace(run, submissions=tuple(told))
    if course is None:
        return run
    for student in unknown_students(course, run):
        tell(f"`{student}` has an extension, and no submission is called so, or several")
    times = _times(course, submissions)
    if times.name:
        _tell_of_others(times, run)
    made = applied(course, run, times)
    if course.columns:
        _tell_of_columns(course, csv_report.header(made))
    return made


def _with_not_begun(
    course: Course | None, submission: SubmissionResult, exercises: Sequence[Exercise]
) -> SubmissionResult:
    """Add what a week asks for and was left out, as nobody begins what lies beyond unasked."""
    there = {one.exercise: one for one in submission.exercises}
    asked = course.exercises if course is not None and course.weeks else ()
    missing = {one.full: one for one in exercises if one.full in asked and one.full not in there}
    if not missing:
        return submission
    made = {
        full: ExerciseResult(
            full, one.points, len(one.checks), tuple(
                CheckResult(
                    c.name, device, "not started", c.core, f"{full} is not started", about=c.about
                )
                for device in submission.devices for c in one.checks
            ), track=one.track,
        )
        for full, one in missing.items()
    }  # fmt: skip
    order = [one.full for one in exercises]
    every = sorted({**there, **made}.values(), key=lambda one: order.index(one.exercise))
    return replace(submission, exercises=tuple(every))


def score_of(
    course: Course | None, run: Run, submission: Submission, result: SubmissionResult
) -> Fraction:
    """Return what one submission's score is by the rules, without a word of others."""
    if course is None:
        return result.final
    alone = replace(run, submissions=(result,))
    return applied(course, alone, _times(course, [submission])).submissions[0].final


def _tell_of_columns(course: Course, known: Sequence[str]) -> None:
    """Say which columns have another name and are not there, and which have one name together."""
    for name in course.columns:
        if name not in known:
            meant = did_you_mean(name, known)
            tell(f"[columns] `{name}`: the csv report has no such column{meant}")
    called: dict[str, list[str]] = {}
    for name in known:
        called.setdefault(course.columns.get(name, name), []).append(f"`{name}`")
    for title, alike in called.items():
        if len(alike) > 1:
            tell(f"[columns] {in_words(alike)} would be called `{title}`: give each its own name")


def _tell_of_others(times: Times, run: Run) -> None:
    """Say who is in the table of times and hands in nothing, or the other way round, or twice."""
    meant = meant_by(times.students, [one.identity for one in run.submissions])
    handed_in = {one.identity for one in run.submissions if not one.problem}
    for student in sorted(set(times.students) - set(meant.values())):
        tell(f"`{student}` stands in {times.name}, and no submission is called so, or several")
    for student in sorted(handed_in - set(meant)):
        tell(f"`{student}` does not stand in {times.name}: taken as in time")
    if times.several:
        tell(f"{times.name} has several times of one chapter, the latest counts: "
              f"{listed(times.several)}")  # fmt: skip


def _out_of(course: Course | None, exercises: Sequence[Exercise]) -> Fraction:
    """Say what a score is out of, also of those that could not be graded."""
    if course is not None and course.weeks:
        return total(course.weeks, {one.full: one.points for one in exercises})
    return sum((one.points for one in exercises if one.track == "core"), Fraction(0))


def _times(course: Course, submissions: Sequence[Submission] | None) -> Times:
    if course.handed_in is not None:
        return course.handed_in
    if not course.has_deadlines:
        return Times({})
    if submissions is None:
        raise CourseError(
            "results files do not hold when something was handed in: give the course "
            'handed_in = "times.csv", a table with the columns id and time'
        )
    return times_of_files(submissions)
