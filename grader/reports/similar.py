"""Answers that are alike, by how they are written: a reason to talk, never a proof.

What also stands in the stubs or the reference says nothing, and what many of a class have says
little: a shape that two answers share weighs 1 if nobody else has it, a half if one other has, and
so on. Two functions are alike if what they share is most of what both weigh; what alike functions
share is added up. So what a large group has in common would weigh next to nothing, and those whose
answers are the same from end to end are listed as a group.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grader import places
from grader.reports.json_report import kit
from grader.reports.text import all_encodable
from grader.results import Run, SubmissionResult
from grader.written.shapes import Shapes, shapes

SCHEMA = 1
# two functions are alike from this part on
PART = 0.6
# two submissions are named from this weight on: of 378 pairs of right answers that were written
# independently none came to more than 21, and whole copies begin at 511
WEIGHT = 30.0
MOST = 200
CAUTION = (
    "Thirty short functions with given names and a given order look alike without anybody having "
    "copied, the more so where people worked together, as they may, or asked the same program. "
    "What many have alike weighs little, so a pair of them may not be listed; those whose answers "
    "are the same throughout are listed as a group. "
    "Being on this list is a reason to talk, never a proof; who is not on it may have copied."
)


@dataclass(frozen=True)
class AlikeFunction:
    """A function that two have written alike: by what part, and how much that weighs."""

    exercise: str
    part: float
    weight: float


@dataclass(frozen=True)
class AlikePair:
    """Two submissions with functions that are alike.

    Attributes:
        who: their names.
        weight: of all that they share there.
        begun: how many functions both have begun.
        functions: those that are alike, the weightiest first.
    """

    who: tuple[str, str]
    weight: float
    begun: int
    functions: tuple[AlikeFunction, ...]


@dataclass(frozen=True)
class Similar:
    """What came of comparing a class.

    Attributes:
        caution: what has to be said with it.
        compared: how many submissions were.
        not_compared: the names of the others.
        same: groups of three and more whose answers are the same throughout, the largest first.
        more: how many further pairs there are.
        pairs: the weightiest first.
    """

    caution: str
    compared: int
    not_compared: tuple[str, ...]
    same: tuple[tuple[str, ...], ...]
    more: int
    pairs: tuple[AlikePair, ...]


def write(run: Run, path: Path, compare: Callable[[Run], Similar] | None = None) -> None:
    """Write the report.

    Args:
        run: with the shapes of answers.
        path: where to.
        compare: finds what is alike, if not `found`.
    """
    report = {"schema": SCHEMA, "kit": kit(run), **asdict((compare or found)(run))}
    path.write_text(
        json.dumps(all_encodable(report), indent=1) + "\n", encoding="utf-8", newline="\n"
    )


def found(run: Run, known: Sequence[Shapes] | None = None) -> Similar:
    """Compare every two submissions.

    Args:
        run: with the shapes of answers.
        known: texts that everybody may have alike; None: those of the kit.
    """
    each = {one.identity: _graded(one) for one in run.submissions}
    compared = {who: of for who, of in each.items() if of}
    others = tuple(who for who, of in each.items() if not of)
    names = tuple(sorted({name for of in compared.values() for name in of}))
    said = of_the_kit(names) if known is None else known
    marks = _own_marks(compared, said)
    pairs = sorted(_pairs(compared, marks), key=lambda pair: (-pair.weight, pair.who))
    more = max(0, len(pairs) - MOST)
    return Similar(CAUTION, len(compared), others, _same(marks), more, tuple(pairs[:MOST]))


def _graded(submission: SubmissionResult) -> Shapes:
    """Return the shapes of the functions that were graded: those of other weeks may be shared."""
    names = {exercise.exercise for exercise in submission.exercises}
    return {name: numbers for name, numbers in submission.shapes.items() if name in names}


@functools.cache
def of_the_kit(exercises: tuple[str, ...]) -> tuple[Shapes, ...]:
    """Return the shapes of what the kit itself has in every place: the stubs and the reference."""
    names: dict[str, list[str]] = {}
    for stem, _, name in (full.partition(".") for full in exercises):
        names.setdefault(stem, []).append(name)
    return tuple(
        shapes({file.name: file.read_bytes() for file in folder.glob("ex*.py")}, names)
        for folder in (places.EXERCISES, places.SOLUTIONS)
    )


# a function's name and one of its shapes
Mark = tuple[str, int]


def _own_marks(
    compared: Mapping[str, Shapes], known: Sequence[Shapes]
) -> dict[str, frozenset[Mark]]:
    """Return what of each answer does not stand in the kit."""
    plain = {mark for one in known for mark in _marks(one)}
    return {who: frozenset(_marks(of)) - plain for who, of in compared.items()}


def _same(marks: Mapping[str, frozenset[Mark]]) -> tuple[tuple[str, ...], ...]:
    """Group those who have the very same marks, if there are enough to tell anything."""
    groups = defaultdict(list)
    for who, own in marks.items():
        groups[own].append(who)
    told = (tuple(who) for own, who in groups.items() if len(who) > 2 and len(own) >= WEIGHT)
    return tuple(sorted(told, key=lambda who: (-len(who), who)))


def _pairs(
    compared: Mapping[str, Shapes], marks: Mapping[str, frozenset[Mark]]
) -> Iterator[AlikePair]:
    have = Counter(mark for some in marks.values() for mark in some)
    weights = {mark: 1 / max(1, count - 1) for mark, count in have.items()}
    for who in itertools.combinations(compared, 2):
        mine, theirs = (marks[one] for one in who)
        both = mine & theirs
        # most pairs share too little for anything to come of it
        if sum(map(weights.__getitem__, both)) >= WEIGHT:
            alike = _alike(both, mine ^ theirs, have, weights)
            weight = sum(function.weight for function in alike)
            if weight >= WEIGHT:
                begun = len(compared[who[0]].keys() & compared[who[1]].keys())
                yield AlikePair(who, round(weight, 1), begun, tuple(alike))


def _marks(of: Shapes) -> Iterator[Mark]:
    return ((name, number) for name, numbers in of.items() for number in numbers)


def _alike(
    both: frozenset[Mark],
    either: frozenset[Mark],
    have: Mapping[Mark, int],
    weights: Mapping[Mark, float],
) -> list[AlikeFunction]:
    """List the functions of which most is shared; without either of the two, others count."""
    shared: dict[str, float] = defaultdict(float)
    apart: dict[str, float] = defaultdict(float)
    for mark in both:
        shared[mark[0]] += weights[mark]
    for mark in either:
        apart[mark[0]] += 1 / have[mark]
    parts = {name: weight / (weight + apart[name]) for name, weight in shared.items()}
    alike = [
        AlikeFunction(name, round(parts[name], 2), round(weight, 1))
        for name, weight in shared.items()
        if parts[name] >= PART
    ]
    return sorted(alike, key=lambda one: (-one.weight, one.exercise))
