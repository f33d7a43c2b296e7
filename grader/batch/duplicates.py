"""Who has handed in more than once, and which of it counts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from grader.batch.names import listed
from grader.batch.submissions import Submission, stem
from grader.reports.roster import CANVAS, MOODLE
from grader.results import SubmissionResult

Rule = Literal["latest", "best", "refuse"]
RULES: tuple[Rule, ...] = ("latest", "best", "refuse")
# what browsers and systems add to the name of a second copy
COPY = re.compile(r" ?\(\d+\)$")


def sorted_out(batch: Sequence[Submission], rule: Rule | None) -> list[Submission]:
    """Leave out what does not count, or refuse what a student has handed in more than once.

    Args:
        batch: all that was handed in.
        rule: None and `best` leave everything to be graded.
    """
    out: list[Submission] = list(batch)
    if rule not in ("latest", "refuse"):
        return out
    for together in several(batch):
        names = listed([one.path.name for one in together])
        if rule == "refuse":
            says = f"handed in {len(together)} times, as {names}: leave one"
            out = [replace(one, problem=says) if one in together else one for one in out]
            continue
        latest = max(together, key=lambda one: (_changed(one), one.identity))
        others = [one for one in together if one is not latest]
        told = (f"the latest of {names} counts",)
        out = [replace(one, notes=told) if one is latest else one for one in out]
        out = [one for one in out if one not in others]
    return out


def best_of(
    batch: Sequence[Submission], results: Sequence[SubmissionResult]
) -> tuple[SubmissionResult, ...]:
    """Keep of what a student has handed in more than once the one with the highest score."""
    by_name = {result.identity: result for result in results}
    for together in several(batch):
        found = [by_name.pop(one.identity) for one in together if one.identity in by_name]
        if found:
            best = max(found, key=lambda one: (not one.problem, one.final))
            told = f"the best of {listed([one.path.name for one in together])} counts"
            by_name[best.identity] = replace(best, notes=(*best.notes, told))
    kept = (by_name.get(result.identity) for result in results)
    return tuple(result for result in kept if result is not None)


def several(batch: Sequence[Submission]) -> Iterator[list[Submission]]:
    """Yield what belongs together, where somebody has handed in more than once."""
    by_student: dict[str, list[Submission]] = defaultdict(list)
    for submission in batch:
        by_student[_student(submission.path)].append(submission)
    yield from (together for together in by_student.values() if len(together) > 1)


def _student(path: Path) -> str:
    """Say whose it is, as far as a name tells: a platform's, or what is left without a copy's."""
    for platform in (MOODLE, CANVAS):
        match = platform.fullmatch(path.name)
        if match:
            return f"{match['name']}_{match['number']}".casefold()
    return COPY.sub("", stem(path)).casefold()


def _changed(submission: Submission) -> float:
    if submission.loose is not None:
        return max(path.lstat().st_mtime for _, path in submission.loose.files)
    if submission.path.is_dir():
        inside = [path.lstat().st_mtime for path in submission.path.rglob("ex*")]
        return max(inside, default=submission.path.stat().st_mtime)
    return submission.path.lstat().st_mtime
