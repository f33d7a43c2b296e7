"""The verdict on a save: what has changed, and the first message to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from grader.reports.board import standing
from grader.reports.message import parts
from grader.results import ExerciseResult
from grader.trial.plan import DEVICE, Task


@dataclass(frozen=True)
class Line:
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
    lines: tuple[Line, ...] = ()
    task: Task | None = None
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
    title: str, tasks: Sequence[Task], before: Mapping[str, ExerciseResult], known: Known,
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
    lines = tuple(_lines(changed, before, now)) if before else ()
    if before and not lines:
        lines = (Line("not run", "nothing has changed"),)
    if broken:
        lines = (Line("wrong", f"{broken} does not run yet"),)
    wrong = [
        task
        for some in (written, changed, tasks)
        for wanted in ("wrong", "waiting")
        for task in some
        if _standing(now, task) == wanted
    ]
    if not wrong:
        return Verdict(title, lines)
    task = wrong[0]
    first = next(check for check in now[task.full].on(DEVICE) if not check.passed)
    return Verdict(title, lines, task, first.message, known.printed.get(task.full, ""))


def more(before: Mapping[str, ExerciseResult], known: Known, tasks: Sequence[Task]) -> list[Line]:
    """Say what has changed in later chapters, as far as somebody has begun with it."""
    changed = [
        task
        for task in tasks
        if task.full in before
        and (both := {_standing(before, task), _standing(known.results, task)})
        & {"solved", "wrong"}
        and len(both) > 1
    ]
    return [
        Line(line.standing, f"{stem}: {line.says}")
        for stem, group in groupby(changed, key=lambda task: task.stem)
        for line in _lines(group, before, known.results)
    ]


def _standing(results: Mapping[str, ExerciseResult], task: Task) -> str:
    return standing(results[task.full], DEVICE) if task.full in results else "not run"


def _broken(tasks: Sequence[Task], now: Mapping[str, ExerciseResult]) -> str:
    """Name the one file that was tried, if it cannot be imported."""
    stems = {task.stem for task in tasks}
    failed = [c for t in tasks for c in now[t.full].on(DEVICE) if not c.passed]
    file = f"{min(stems)}.py" if len(stems) == 1 else ""
    if not failed or not file or failed[0].because:
        return ""
    return file if parts(failed[0].message).headline.startswith(file) else ""


def _lines(
    tasks: Iterable[Task], before: Mapping[str, ExerciseResult], now: Mapping[str, ExerciseResult]
) -> Iterator[Line]:
    """Write a sentence for those that fare alike."""

    def alike(task: Task) -> tuple[str, str]:
        is_now = _standing(now, task)
        if is_now == "waiting":
            return is_now, f"for {' and '.join(now[task.full].waits_for(DEVICE))}"
        still = "still " if is_now == _standing(before, task) else ""
        if is_now != "wrong":
            return is_now, f"{still}{is_now}"
        checks = now[task.full].on(DEVICE)
        failed = sum(not check.passed for check in checks)
        return is_now, f"{still}wrong: {failed} of {len(checks)} checks fail"

    for (is_now, words), group in groupby(tasks, key=alike):
        names = [task.name for task in group]
        several = len(names) > 1
        verb = ("waits", "wait") if is_now == "waiting" else ("is", "are")
        yield Line(is_now, f"{listed(names)} {verb[several]} {words}")


def listed(names: Sequence[str]) -> str:
    """Write names one after the other, as in a sentence."""
    return " and ".join(", ".join(names).rsplit(", ", 1))
