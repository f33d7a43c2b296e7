"""The verdict on a save: what has changed, and the first message to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from grader.naming import in_words
from grader.reports.board import polish, standing
from grader.reports.message import parts, with_polish
from grader.results import ExerciseResult
from grader.trial.plan import DEVICE, PlannedTask


@dataclass(frozen=True)
class StandingLine:
    """One sentence, and the standing that it tells of."""

    standing: str
    says: str


@dataclass(frozen=True)
class Verdict:
    """What a save has come to.

    Attributes:
        title: what was saved.
        lines: what has become of the functions that were touched or changed their standing.
        task: the function that the message is about.
        message: of its first failing check.
        printed: what the answer printed in that check.
    """

    title: str
    lines: tuple[StandingLine, ...] = ()
    task: PlannedTask | None = None
    message: str = ""
    printed: str = ""


@dataclass
class Known:
    """What is known of every function.

    Attributes:
        results: the latest, by full name.
        printed: what was printed in the first failing check.
    """

    results: dict[str, ExerciseResult] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)


def verdict(
    title: str, tasks: Sequence[PlannedTask], before: Mapping[str, ExerciseResult], known: Known,
    touched: Iterable[str] = (),
) -> Verdict:  # fmt: skip
    """Say what a trial has come to.

    Args:
        title: what was saved.
        tasks: what was tried, in order.
        before: what was known until then.
        known: what is known now.
        touched: the names of the functions whose source was changed.
    """
    now = known.results
    written = [task for task in tasks if task.name in set(touched)]
    changed = [t for t in tasks if t in written or _standing(before, t) != _standing(now, t)]
    broken = _broken(tasks, now)
    # at first all has changed, and the board tells it
    lines = tuple(_lines(changed if before else written, before, now))
    if before and not lines:
        lines = (StandingLine("not run", "nothing has changed"),)
    if broken:
        lines = (StandingLine("wrong", f"{broken} does not run yet"),)
    wrong = [
        task
        for some in (written, changed, tasks)
        for wanted in ("wrong", "waiting", "to polish")
        for task in some
        if _standing(now, task) == wanted
    ]
    if not wrong:
        return Verdict(title, lines)
    task = wrong[0]
    first = next(check for check in now[task.full].on(DEVICE) if not check.passed)
    message = first.message
    if now[task.full].state(DEVICE) == "to polish":
        message = with_polish(message, task.name, first.verdict)
    return Verdict(title, lines, task, message, known.printed.get(task.full, ""))


def more(
    before: Mapping[str, ExerciseResult], known: Known, tasks: Sequence[PlannedTask]
) -> list[StandingLine]:
    """Say what has changed in later chapters, as far as somebody has begun with it."""
    changed = [
        task
        for task in tasks
        if task.full in before
        and (both := {_standing(before, task), _standing(known.results, task)})
        & {"solved", "to polish", "wrong"}
        and len(both) > 1
    ]
    return [
        StandingLine(line.standing, f"{stem}: {line.says}")
        for stem, group in groupby(changed, key=lambda task: task.stem)
        for line in _lines(group, before, known.results)
    ]


def _standing(results: Mapping[str, ExerciseResult], task: PlannedTask) -> str:
    return standing(results[task.full], DEVICE) if task.full in results else "not run"


def _broken(tasks: Sequence[PlannedTask], now: Mapping[str, ExerciseResult]) -> str:
    """Name the one file that was tried, if it cannot be imported."""
    stems = {task.stem for task in tasks}
    failed = [c for t in tasks for c in now[t.full].on(DEVICE) if not c.passed]
    if not failed or len(stems) != 1 or failed[0].because:
        return ""
    # of a notebook a cell may be broken, and the others run
    said = re.match(r"\w+\.(py\b|ipynb )", parts(failed[0].message).headline)
    return said[0].rstrip() if said and said[0].startswith(f"{min(stems)}.") else ""


def _lines(
    tasks: Iterable[PlannedTask],
    before: Mapping[str, ExerciseResult],
    now: Mapping[str, ExerciseResult],
) -> Iterator[StandingLine]:
    """Write a sentence for those that fare alike."""

    def alike(task: PlannedTask) -> tuple[str, str]:
        is_now = _standing(now, task)
        if is_now == "waiting":
            return is_now, f"for {in_words(now[task.full].waits_for(DEVICE))}"
        still = "still " if is_now == _standing(before, task) else ""
        failed = now[task.full].to_mend(DEVICE) if task.full in now else 0
        if is_now == "to polish":
            return is_now, f"right: {still}{polish(failed)}"
        if is_now != "wrong":
            return is_now, f"{still}{is_now}"
        return is_now, f"{still}wrong: {failed} of {len(now[task.full].on(DEVICE))} checks fail"

    for (is_now, words), group in groupby(tasks, key=alike):
        names = [task.name for task in group]
        several = len(names) > 1
        verb = ("waits", "wait") if is_now == "waiting" else ("is", "are")
        yield StandingLine(is_now, f"{in_words(names)} {verb[several]} {words}")
