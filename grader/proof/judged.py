"""The same outcome and the same message, in this process and judged from another one."""

from __future__ import annotations

import contextlib
import difflib
import functools
from collections.abc import Sequence
from pathlib import Path

from grader import places
from grader.chapters import Catalogue, Exercise
from grader.hearings.hearing import Hearing, Limits
from grader.judging.outcome import Outcome
from grader.judging.recognise import SlipMemory
from grader.proof.figure import Figure
from grader.remote.held import chapters_in
from grader.remote.talk import ByHeart
from grader.suite.check import Check
from grader.workers.forked import Starter
from grader.workers.starting import starter_for

TITLE = "outcomes that are the same in the judge's eyes"
# shared, as in a batch: what one right answer has said is not worked out again for the next
BY_HEART = ByHeart()
# what is compared are outcomes, however slow the machine: in this process nothing has a limit
UNHURRIED = Limits(seconds=100.0)


@functools.cache
def starter() -> Starter:
    """Return what starts workers in this process; they run the kit's own code, without walls."""
    return starter_for()


def same_when_judged(
    known: Catalogue,
    exercise: Exercise,
    how: str,
    name: str,
    outcomes: Sequence[Outcome],
    seed: int,
    memory: SlipMemory | None = None,
) -> Figure:
    """Hold the outcomes of a wrong function in this process against those from another one."""
    figure = Figure(TITLE)
    planted = {exercise.full: ("grader.proof.planted", how, exercise.full, name)}
    hearing = Hearing(
        known, starter(), chapters_in(places.SOLUTIONS), "cpu", seed, UNHURRIED,
        planted=planted, memory=memory or SlipMemory(), by_heart=BY_HEART,
    )  # fmt: skip
    with contextlib.closing(hearing):
        for check, here in zip(exercise.checks, outcomes, strict=True):
            _compare(figure, f"{exercise.full} {name}", check, here, hearing.outcome(check))
    return figure


def folder_when_judged(
    known: Catalogue, folder: Path, outcomes: Sequence[tuple[Check, Outcome]], seed: int
) -> Figure:
    """Hold the outcomes of a folder of answers in this process against those from another one."""
    figure = Figure(TITLE)
    answers = chapters_in(folder)
    hearing = Hearing(known, starter(), answers, "cpu", seed, UNHURRIED, by_heart=BY_HEART)
    with contextlib.closing(hearing):
        for check, here in outcomes:
            _compare(figure, folder.name, check, here, hearing.outcome(check))
    return figure


def _compare(figure: Figure, who: str, check: Check, here: Outcome, there: Outcome) -> None:
    same = (here.verdict, here.slip, here.message) == (there.verdict, there.slip, there.message)
    lines = [f"{who}, {check.stem} {check.name}: {here.verdict} and {there.verdict}"]
    if not same:
        told = difflib.unified_diff(here.message.split("\n"), there.message.split("\n"), n=0)
        lines += list(told)[2:12]
    figure.count(same, "\n    ".join(lines))
