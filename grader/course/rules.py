"""What a course's rules make of results: points, what lateness takes off, and what is told."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from grader.course.settings import Course, Late, Week
from grader.course.times import Times
from grader.results import ExerciseResult, Run, SubmissionResult
from grader.whose import meant_by

DAY = dt.timedelta(days=1)


def applied(course: Course, run: Run, times: Times) -> Run:
    """Let the rules make scores of what the checks gave; the checks stay as they are.

    Args:
        course: the rules.
        run: graded on the exercises that count.
        times: when who handed in.
    """
    identities = [one.identity for one in run.submissions]
    longer = meant_by(course.extensions, identities)
    extensions = {identity: course.extensions[said] for identity, said in longer.items()}
    course = dataclasses.replace(course, extensions=extensions)
    times = times.by_identity(meant_by(times.students, identities))
    return dataclasses.replace(
        run,
        submissions=tuple(_scored(course, one, times) for one in run.submissions),
        pass_mark=course.pass_mark,
        messages=course.messages,
        columns=tuple(course.columns.items()),
    )


def total(weeks: Sequence[Week], points: Mapping[str, Fraction]) -> Fraction:
    """Add up what weeks are out of.

    Args:
        weeks: those of the course.
        points: what the kit gives for each exercise that was graded.
    """
    found = Fraction(0)
    for week in weeks:
        kits = sum((points[name] for name in week.exercises if name in points), Fraction(0))
        found += kits if week.weight is None or not kits else week.weight
    return found


def unknown_students(course: Course, run: Run) -> list[str]:
    """Name those with an extension who are in no submission."""
    known = meant_by(course.extensions, [one.identity for one in run.submissions]).values()
    return [student for student in course.extensions if student not in known]


def _scored(course: Course, submission: SubmissionResult, times: Times) -> SubmissionResult:
    if not course.weeks:
        rules = {e.exercise: (e.points, Fraction(1)) for e in submission.exercises}
        return _with_points(course, submission, rules, ())
    rules, late = {}, []
    for place, week in enumerate(course.weeks, start=1):
        counted = [e for e in submission.exercises if e.exercise in week.exercises]
        more = _extension(course, submission.identity, place)
        moment = times.of(submission.identity, week.exercises)
        days = _days_late(week, more, course.late, moment)
        if week.deadline is not None and moment is None and any(map(_is_begun, counted)):
            late.append(f"{week.title}: nothing says when it was handed in: taken as in time")
        kept = _kept(course.late, days)
        if days:
            lost = f"{float(100 * (1 - kept)):g} % less"
            late.append(f"{week.title}: {days} {'day' if days == 1 else 'days'} late, {lost}")
        points = zip(counted, _weighted(week, counted), strict=True)
        rules |= {exercise.exercise: (worth, kept) for exercise, worth in points}
    return _with_points(course, submission, rules, late)


def _with_points(
    course: Course,
    submission: SubmissionResult,
    rules: dict[str, tuple[Fraction, Fraction]],
    late: Sequence[str],
) -> SubmissionResult:
    exercises = tuple(
        dataclasses.replace(
            exercise,
            points=rules[exercise.exercise][0],
            kept=rules[exercise.exercise][1],
            credit=course.follow_through,
            # what a week names is part of the course's score
            track="core" if course.weeks else exercise.track,
        )
        for exercise in submission.exercises
        if exercise.exercise in rules  # what was graded before there was a course may be more
    )
    notes = (*submission.notes, *late)
    return dataclasses.replace(submission, exercises=exercises, notes=notes)


def _weighted(week: Week, counted: Sequence[ExerciseResult]) -> list[Fraction]:
    """Share a week's weight as the kit shares its points, in hundredths that add up to it."""
    points = [exercise.points for exercise in counted]
    if week.weight is None or not sum(points):
        return points
    ends = [sum(points[: place + 1]) / sum(points) * week.weight for place in range(len(points))]
    rounded = [Fraction(0), *(Fraction(round(end * 100), 100) for end in ends[:-1]), week.weight]
    return [after - before for before, after in itertools.pairwise(rounded)]


def _is_begun(exercise: ExerciseResult) -> bool:
    return any(check.passed for check in exercise.checks)


def _extension(course: Course, identity: str, place: int) -> dt.timedelta:
    given = course.extensions.get(identity, {})
    return given.get(place, given.get(0, dt.timedelta()))


def _days_late(week: Week, more: dt.timedelta, late: Late, handed_in: dt.datetime | None) -> int:
    """Count the days after the deadline that have begun."""
    if week.deadline is None or handed_in is None:
        return 0
    # in this order: a deadline that means none may be of the last day that there is
    over = handed_in - week.deadline - more
    return math.ceil(over / DAY) if over > late.grace else 0


def _kept(late: Late, days: int) -> Fraction:
    """Return which part of its points a week keeps."""
    if late.days is not None and days > late.days:
        return Fraction(0)
    return 1 - min(late.per_day * days, late.most) / 100
