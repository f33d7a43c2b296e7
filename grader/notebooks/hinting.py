"""The next hint for a function as it stands in this session, which need not have been saved."""

from __future__ import annotations

from typing import Any

from grader import places
from grader.chapters import Exercise, catalogue
from grader.hints.advice import advise
from grader.hints.ladder import Ladder
from grader.judging.run import Setting
from grader.notebooks import checking
from grader.notebooks.session import Session, started_session
from grader.reports.board import standing
from grader.trial.attempt import plan_of


def hinted(name: str, space: dict[str, Any]) -> list[str] | None:
    """Return the next hint as lines; None if it is not of a function of this notebook.

    Args:
        name: a function, a chapter, or a word that has a card.
        space: the notebook's namespace.
    """
    session = started_session(space)
    named = [one for one in catalogue().exercises() if name in (one.stem, one.name, one.full)]
    if session is None or {one.stem for one in named} != {session.stem}:
        return None
    session.refresh()
    for exercise in named:
        told = _of(session, exercise, is_named=len(named) == 1)
        if told is not None:
            return told
    return [f"{session.stem}: every function is solved."]


def _of(session: Session, exercise: Exercise, *, is_named: bool) -> list[str] | None:
    """Give a function's next hint; None if it is solved, and nobody has named it."""
    absent = checking.absent(session, exercise)
    if absent is not None:
        return absent.says
    judged = checking.judged(session, exercise, Setting(), checking.SECONDS)
    result = checking.result_of(exercise, judged)
    if not is_named and standing(result, checking.HERE) == "solved":
        return None
    task = plan_of([exercise]).tasks[0]
    return advise(task, result, checking.HERE, Ladder(places.ROOT)).lines()
