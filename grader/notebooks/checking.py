"""Judging what a notebook defines right now, and writing what a check cell prints."""

from __future__ import annotations

import contextlib
import io
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader import devices
from grader.answers.clock import limit
from grader.chapters import Exercise, catalogue
from grader.judging import explain
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome, TimeLimit
from grader.judging.result import check_result
from grader.judging.run import Setting
from grader.naming import in_words
from grader.notebooks.session import Session, session_of, started_session
from grader.reports.board import polish, standing
from grader.reports.message import with_polish
from grader.results import ExerciseResult
from grader.suite.check import Check
from grader.written.chosen import line_of, not_python

WIDTH = 88
# a check cell runs on one device, whichever it is
HERE = "here"
MOST_MESSAGES = 3
# how long each check may take, if nothing else is said
SECONDS = 10.0
MOST_PRINTED = 2000
# what these stand for is imported, and defined in no cell
MODULES = frozenset(("F", "math", "nn", "np", "numpy", "torch"))
AGAIN = (
    "The same code as at the last check: if you have changed its cell, run that cell first, then "
    "this one."
)


NOT_PYTHON = "wrong, its cell is not Python yet"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Absent:
    """Why there is nothing to judge: in a word, and for a student."""

    in_a_word: str
    says: list[str]


@dataclass(frozen=True)
class Judged:
    """A check that was run: what came of it, and what the answer printed."""

    check: Check
    outcome: Outcome
    printed: str


def checked(name: str, space: dict[str, Any], device: str, seconds: float) -> str:
    """Judge a function, or a whole chapter, and say what came of it.

    Raises:
        LookupError: nothing is called so.
        ValueError: there is no such device.
    """
    chosen = catalogue().select(name)
    setting = Setting(_device(device))
    session = started_session(space) or session_of(space, chosen[0].stem)
    changed = session.refresh()
    lines = [f"taken anew, because it has changed: {', '.join(changed)}", ""] if changed else []
    if len(chosen) == 1:
        lines += _one(session, chosen[0], setting, seconds)
    else:
        width = max(len(exercise.name) for exercise in chosen)
        for exercise in chosen:
            said = _in_a_word(session, exercise, setting, seconds)
            lines.append(f"{exercise.name:<{width}}  {said}")
    notes = session.notes() if chosen[0].stem == session.stem else []
    for note in notes:
        lines += ["", *textwrap.wrap(f"When you hand in what is saved: {note}.", WIDTH)]
    return "\n".join(lines)


def _device(device: str) -> str:
    devices.require(device)
    return devices.indexed(device)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread, because the tensors are tiny; the notebook keeps its own number."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _one(session: Session, exercise: Exercise, setting: Setting, seconds: float) -> list[str]:
    """Say everything of one function."""
    gone = absent(session, exercise)
    if gone is not None:
        return gone.says
    found = judged(session, exercise, setting, seconds)
    failed = [one for one in found if not one.outcome.passed]
    result = result_of(exercise, found)
    is_now = standing(result, HERE)
    if is_now == "not started":
        return [failed[0].outcome.message]
    lines = [f"{exercise.full}: {_so_far(result)}"]
    if is_now == "solved":
        return lines
    telling = _apart(failed)
    for one in telling[:MOST_MESSAGES]:
        message = one.outcome.message
        if is_now == "to polish":
            message = with_polish(message, exercise.name, one.outcome.verdict)
        lines += ["", f" {one.check.name} ".center(WIDTH, "_"), message]
        lines += _printed(one.printed) if one is telling[0] else []
    more = len(failed) - len(telling[:MOST_MESSAGES])
    if more:
        lines += ["", _and_more(more, is_now)]
    notes = _notes(session, exercise, failed)
    lines += ["", *notes] if notes or is_now != "waiting" else []
    if is_now != "waiting":
        lines.append(f'Stuck? hint("{exercise.name}") gives the next of three hints.')
    return lines


def _and_more(checks: int, is_now: str) -> str:
    if is_now == "waiting":
        wait = "one more check waits" if checks == 1 else f"{checks} more checks wait"
        return f"{wait} for it"
    fail = "one more check fails" if checks == 1 else f"{checks} more checks fail"
    return fail if is_now == "to polish" else f"{fail}: mend what is told above first"


def _in_a_word(session: Session, exercise: Exercise, setting: Setting, seconds: float) -> str:
    """Say of one function in a line how far it is."""
    gone = absent(session, exercise)
    return (
        gone.in_a_word
        if gone is not None
        else _so_far(result_of(exercise, judged(session, exercise, setting, seconds)))
    )


def result_of(exercise: Exercise, found: list[Judged]) -> ExerciseResult:
    """Put what came out into the form from which the board tells how far a function is."""
    checks = tuple(check_result(one.check, one.outcome, HERE) for one in found)
    return ExerciseResult(
        exercise.full, exercise.points, len(exercise.checks), checks, track=exercise.track
    )


def _so_far(result: ExerciseResult) -> str:
    """Say how far a function is, in the words of the board."""
    is_now, fail = standing(result, HERE), result.to_mend(HERE)
    if is_now == "solved":
        return f"solved, all of its {result.total} checks pass"
    if is_now == "to polish":
        return f"right, {polish(fail)}"
    if is_now == "waiting":
        return f"waiting for {in_words(result.waits_for(HERE))}"
    if is_now == "wrong":
        return f"wrong, {fail} of its {result.total} checks fail"
    return is_now


def absent(session: Session, exercise: Exercise) -> Absent | None:
    """Say why there is nothing to judge: cells that were not run, or do not run."""
    if exercise.stem != session.stem:
        return None
    broken = not_python(session.ran(), exercise.name)
    if broken is not None:
        cell, problem = broken
        line, text = line_of(problem, cell)
        error = SyntaxError(problem.msg, (f"cell [{cell.number}]", line, None, text))
        says = [f"{exercise.full}: {NOT_PYTHON}", "", *explain.not_python(error, "")]
        return Absent(NOT_PYTHON, says)
    if exercise.name not in session.space:
        return Absent(NOT_RUN, [f"{exercise.full}: {NOT_RUN} in this session: run its cell first"])
    made = session.space[exercise.name]
    if callable(made):
        return None
    says = [
        f"{exercise.full} is not started: `{exercise.name}` is a {type(made).__name__} by now, not "
        "a function.",
        "A later cell has given it another value: run the function's cell again.",
    ]
    return Absent("not started", says)


@_one_thread()
def judged(session: Session, exercise: Exercise, setting: Setting, seconds: float) -> list[Judged]:
    """Run a function's checks, the core first."""
    judge = Judge(session.known, session.world, setting)
    found = []
    for check in sorted(exercise.checks, key=lambda one: not one.core):
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), limit(seconds):
                outcome = judge.judge(check)
        except TimeLimit:  # at a moment when the judge was not listening
            said = f"{check.full_exercise} did not come back in time"
            outcome = Outcome("timeout", message=said)
        found.append(Judged(check, outcome, printed.getvalue()))
    return found


def _apart(failed: list[Judged]) -> list[Judged]:
    """Return the failed checks of which each tells something else, as pytest's output does."""
    told: dict[object, Judged] = {}
    for one in failed:
        outcome = one.outcome
        told.setdefault(outcome.slip or outcome.blame or outcome.headline or outcome.message, one)
    tried = [one for one in told.values() if one.outcome.error or one.outcome.finding]
    return tried or list(told.values())


def _printed(text: str) -> list[str]:
    if not text.strip():
        return []
    cut = text[:MOST_PRINTED].rstrip("\n") + ("\n..." if len(text) > MOST_PRINTED else "")
    return ["", "  It printed", *(f"    {line}" for line in cut.splitlines())]


def _notes(session: Session, exercise: Exercise, failed: list[Judged]) -> list[str]:
    """Say what may be stale: cells that have not been run, or not run again."""
    lines = []
    for one in failed:
        error = one.outcome.error
        name = getattr(error, "name", None) if isinstance(error, NameError) else None
        if name and name not in session.space and name not in MODULES:
            lines.append(f"No cell that has been run defines `{name}`: run the cells above first.")
            break
    made = session.space.get(exercise.name)
    before, passed = session.judged.get(exercise.full, (None, True))
    if made is not None and made is before and not passed and not lines:
        lines.append(AGAIN)
    session.judged[exercise.full] = made, False
    return lines
