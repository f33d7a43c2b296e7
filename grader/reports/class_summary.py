"""A class at a glance, as plain data: the class page and the class report are both made of it.

Everything is about the device whose score counts, and about those that could be graded.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from grader.reports.message import parts
from grader.reports.moved import EarlierScores, Moved, compare
from grader.results import ExerciseResult, Run, State, SubmissionResult, number

STATES: tuple[State, ...] = ("solved", "to polish", "wrong", "not started", "not run")
BINS = 10
# polish can wait: a submission stands where something is not right yet, as its board says
OPEN: tuple[tuple[State, ...], ...] = (("wrong", "not started"), ("to polish",), ("not run",))


@dataclass(frozen=True)
class ClassMember:
    """One submission in a line.

    Attributes:
        id: its name.
        problem: why it could not be graded, if so.
        score: on each device; None where it was not run.
        max: what the score is out of.
        states: how many functions are in which state.
        device_ready: how many checks of devices passed, of how many that ran.
        at: the first function that is not right, or that this one waits for; None if all is.
        state: of that function.
        notes: of files that count under another name, or do not count.
        unused: the names of files that have no part in the verdict.
    """

    id: str
    problem: str | None
    score: dict[str, float | None]
    max: float
    states: dict[State, int]
    device_ready: tuple[int, int]
    at: str | None
    state: State | None
    notes: tuple[str, ...]
    unused: tuple[str, ...]


@dataclass(frozen=True)
class ScoreSpread:
    """How the scores lie.

    Attributes:
        graded: how many there are.
        max: what they are out of.
        quartiles: the least, the lower quartile, the median, the upper one, the most; or nothing.
        bins: how many lie in each tenth of what can be had; the last holds the full score, too.
        nothing: how many have 0.
        everything: how many have all.
    """

    graded: int
    max: float
    quartiles: tuple[float, ...]
    bins: tuple[int, ...]
    nothing: int
    everything: int


@dataclass(frozen=True)
class FunctionCount:
    """How a function fares; `waiting` counts the wrong ones that only wait for an earlier one."""

    exercise: str
    states: dict[State, int]
    waiting: int


@dataclass(frozen=True)
class SlipCount:
    """A known slip in a function: in words, in the first message that names it, and whose it is."""

    exercise: str
    slip: str
    says: str
    message: str
    who: tuple[str, ...]


@dataclass(frozen=True)
class StandingGroup:
    """Those who stand at one function, in one state."""

    exercise: str
    state: State
    who: tuple[str, ...]


@dataclass(frozen=True)
class WaitingGroup:
    """Those who wait for a function or a file: how often with which function."""

    exercise: str
    functions: dict[str, int]
    who: tuple[str, ...]


@dataclass(frozen=True)
class ClassSummary:
    """All of it: most common first, and what is as common in teaching order.

    `absent` names who has handed in nothing; None: nobody has said who is in the course.
    `passed_over` names what lay beside submissions and is nobody's.
    """

    scores: ScoreSpread
    functions: tuple[FunctionCount, ...]
    slips: tuple[SlipCount, ...]
    standing: tuple[StandingGroup, ...]
    waiting: tuple[WaitingGroup, ...]
    submissions: tuple[ClassMember, ...]
    moved: Moved | None
    absent: tuple[str, ...] | None
    passed_over: tuple[str, ...]


def summary(run: Run, earlier: EarlierScores | None = None) -> ClassSummary:
    """Sum up a run.

    Args:
        run: of any number of submissions.
        earlier: the scores of a run before it, to tell whose have moved.
    """
    graded = [submission for submission in run.submissions if not submission.problem]
    members = tuple(_member(run, submission) for submission in run.submissions)
    return ClassSummary(
        scores=_spread(graded),
        functions=tuple(_functions(graded)),
        slips=tuple(_slips(graded)),
        standing=tuple(_standing(members, _order(graded))),
        waiting=tuple(_waiting(graded)),
        submissions=members,
        moved=compare(run, earlier) if earlier else None,
        absent=run.absent,
        passed_over=run.passed_over,
    )


def stands_at(submission: SubmissionResult) -> tuple[str, State] | None:
    """Name the first function that is not right, or what it waits for; None if all are solved."""
    device = submission.counted
    states = {e.exercise: e.state(device) for e in submission.exercises}
    for some in OPEN:
        for exercise in submission.exercises:
            if states[exercise.exercise] in some:
                waits_for = (n for n in exercise.waits_for(device) if states.get(n) != "solved")
                name = next(waits_for, exercise.exercise)
                return name, states.get(name, "not run")
    return None


def _member(run: Run, submission: SubmissionResult) -> ClassMember:
    reported = {device: submission.reported(device) for device in run.devices}
    at, state = stands_at(submission) or (None, None)
    return ClassMember(
        id=submission.identity,
        problem=submission.problem,
        score={d: None if score is None else number(score) for d, score in reported.items()},
        max=number(submission.maximum),
        states={state: submission.count(state, submission.counted) for state in STATES},
        device_ready=submission.device_ready,
        at=at,
        state=state,
        notes=submission.notes,
        unused=submission.unused,
    )


def _spread(graded: list[SubmissionResult]) -> ScoreSpread:
    scores = sorted(submission.final for submission in graded)
    shares = [s.final / s.maximum for s in graded if s.maximum]
    bins = Counter(min(int(share * BINS), BINS - 1) for share in shares)
    return ScoreSpread(
        graded=len(graded),
        max=number(max((s.maximum for s in graded), default=Fraction(0))),
        quartiles=tuple(number(score) for score in _five(scores)),
        bins=tuple(bins[place] for place in range(BINS)),
        nothing=scores.count(Fraction(0)),
        everything=shares.count(Fraction(1)),
    )


def _five(scores: list[Fraction]) -> list[Fraction]:
    if len(scores) < 2:
        return scores * 5
    return [scores[0], *statistics.quantiles(scores, method="inclusive"), scores[-1]]


def _order(graded: list[SubmissionResult]) -> dict[str, int]:
    """Give each function its place in teaching order."""
    names = dict.fromkeys(e.exercise for s in graded for e in s.exercises)
    return {name: place for place, name in enumerate(names)}


def _all(graded: list[SubmissionResult]) -> Iterator[tuple[SubmissionResult, ExerciseResult]]:
    for submission in graded:
        for exercise in submission.exercises:
            yield submission, exercise


def _functions(graded: list[SubmissionResult]) -> Iterator[FunctionCount]:
    states = {name: dict.fromkeys(STATES, 0) for name in _order(graded)}
    waiting: Counter[str] = Counter()
    for submission, exercise in _all(graded):
        state = exercise.state(submission.counted)
        states[exercise.exercise][state] += 1
        if state == "wrong" and exercise.waits_for(submission.counted):
            waiting[exercise.exercise] += 1
    for name, counts in states.items():
        yield FunctionCount(name, counts, waiting[name])


def _slips(graded: list[SubmissionResult]) -> Iterator[SlipCount]:
    who: dict[tuple[str, str], dict[str, str]] = {}
    for submission, exercise in _all(graded):
        for check in exercise.on(submission.counted):
            if check.slip:
                key = (exercise.exercise, check.slip)
                who.setdefault(key, {}).setdefault(submission.identity, check.message)
    order = _order(graded)
    for (name, slip), messages in sorted(
        who.items(), key=lambda item: (-len(item[1]), order[item[0][0]], item[0][1])
    ):
        message = next(iter(messages.values()))
        says = parts(message).says("Likely slip") or slip.replace("_", " ")
        yield SlipCount(name, slip, says, message, tuple(messages))


def _standing(members: tuple[ClassMember, ...], order: dict[str, int]) -> Iterator[StandingGroup]:
    groups: dict[tuple[str, State], list[str]] = {}
    for member in members:
        if member.at and member.state:
            groups.setdefault((member.at, member.state), []).append(member.id)
    together = Counter(member.at for member in members)
    for (name, state), who in sorted(
        groups.items(),
        key=lambda item: (
            -together[item[0][0]],
            order.get(item[0][0], -1),
            item[0][0],
            STATES.index(item[0][1]),
        ),
    ):
        yield StandingGroup(name, state, tuple(who))


def _waiting(graded: list[SubmissionResult]) -> Iterator[WaitingGroup]:
    functions: dict[str, Counter[str]] = {}
    who: dict[str, dict[str, None]] = {}
    for submission, exercise in _all(graded):
        for name in exercise.waits_for(submission.counted):
            functions.setdefault(name, Counter())[exercise.exercise] += 1
            who.setdefault(name, {})[submission.identity] = None
    order = _order(graded)
    for name in sorted(who, key=lambda name: (-len(who[name]), order.get(name, -1), name)):
        counts = dict(sorted(functions[name].items(), key=lambda one: (-one[1], order[one[0]])))
        yield WaitingGroup(name, counts, tuple(who[name]))
