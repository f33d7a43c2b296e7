"""Judging what a notebook defines right now, and writing what a check cell prints."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.answers.clock import limit
from grader.chapters import Exercise, catalogue
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome, TimeLimit
from grader.judging.run import Setting
from grader.notebooks.session import Session, session_of, started_session
from grader.suite.check import Check

WIDTH = 88
MOST_MESSAGES = 3
MOST_PRINTED = 2000
AGAIN = (
    "The same code as at the last check: if you have changed its cell, run that cell first, then "
    "this one."
)


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
    with _one_thread():
        if len(chosen) == 1:
            lines += _one(session, chosen[0], setting, seconds)
        else:
            width = max(len(exercise.name) for exercise in chosen)
            for exercise in chosen:
                said = _in_a_word(session, exercise, setting, seconds)
                lines.append(f"{exercise.name:<{width}}  {said}")
    return "\n".join(lines)


def _device(device: str) -> str:
    import torch

    if device not in ("cpu", "cuda"):
        raise ValueError(f"device is cpu or cuda, not {device}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("PyTorch sees no CUDA device here")
    return "cuda:0" if device == "cuda" else device


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
    absent = _absent(session, exercise)
    if absent:
        return [absent]
    judged = _judged(session, exercise, setting, seconds)
    failed = [one for one in judged if not one.outcome.passed]
    if not failed:
        return [f"{exercise.full}: solved, all of its {len(judged)} checks pass"]
    if all(one.outcome.verdict == "not started" for one in failed):
        return [failed[0].outcome.message]
    lines = [f"{exercise.full}: wrong, {len(failed)} of its {len(judged)} checks fail"]
    telling = _apart(failed)
    for one in telling[:MOST_MESSAGES]:
        lines += ["", f" {one.check.name} ".center(WIDTH, "_"), one.outcome.message]
        lines += _printed(one.printed) if one is telling[0] else []
    more = len(failed) - len(telling[:MOST_MESSAGES])
    if more:
        checks = "one more check fails" if more == 1 else f"{more} more checks fail"
        lines += ["", f"{checks}: mend this first"]
    lines += ["", *_notes(session, exercise, failed)]
    lines.append(f'Stuck? hint("{exercise.name}") gives the next of three hints.')
    return lines


def _in_a_word(session: Session, exercise: Exercise, setting: Setting, seconds: float) -> str:
    """Say of one function in a line how far it is."""
    if _absent(session, exercise):
        return "not started"
    judged = _judged(session, exercise, setting, seconds)
    failed = [one for one in judged if not one.outcome.passed]
    if not failed:
        return "solved"
    if all(one.outcome.verdict == "not started" for one in failed):
        return "not started"
    return f"wrong: {len(failed)} of {len(judged)} checks fail"


def _absent(session: Session, exercise: Exercise) -> str:
    """Say why there is nothing to judge: stale cells, and names that hold something else now."""
    if exercise.stem != session.stem:
        return ""
    if exercise.name not in session.space:
        return f"{exercise.full} is not started: its cell has not been run in this session"
    made = session.space[exercise.name]
    if callable(made):
        return ""
    return (
        f"{exercise.full} is not started: `{exercise.name}` is a {type(made).__name__} by now, not "
        "a function.\nA later cell has given it another value: run the function's cell again."
    )


def _judged(session: Session, exercise: Exercise, setting: Setting, seconds: float) -> list[Judged]:
    judge = Judge(session.known, session.world, setting)
    found = []
    for check in exercise.checks:
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
        if name and name not in session.space:
            lines.append(f"No cell that has been run defines `{name}`: run the cells above first.")
            break
    made = session.space.get(exercise.name)
    before, passed = session.judged.get(exercise.full, (None, True))
    if made is not None and made is before and not passed and not lines:
        lines.append(AGAIN)
    session.judged[exercise.full] = made, False
    return lines
