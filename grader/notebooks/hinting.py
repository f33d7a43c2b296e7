"""The next hint for a function as it stands in this session, which need not have been saved."""

from __future__ import annotations

from typing import Any

from grader.chapters import Exercise, catalogue, places
from grader.hints.advice import advise
from grader.hints.ladder import Ladder
from grader.judging.run import Setting
from grader.notebooks import checking
from grader.notebooks.session import Session, started_session
from grader.trial.attempt import plan_of


def hinted(name: str, space: dict[str, Any]) -> list[str] | None:
    """Return the next hint as lines; None if it is not of a function of this notebook.

    Args:
        name: a function, a chapter, or a word that has a card.
        space: the notebook's namespace.
    """
    session = started_session(space)
    meant = [one for one in catalogue().exercises() if name in (one.name, one.full)]
    if session is None or len(meant) != 1 or meant[0].stem != session.stem:
        return None
    return _of(session, meant[0])


def _of(session: Session, exercise: Exercise) -> list[str]:
    session.refresh()
    absent = checking.absent(session, exercise)
    if absent is not None:
        return absent.says
    judged = checking.judged(session, exercise, Setting(), checking.SECONDS)
    result = checking.result_of(exercise, judged)
    task = plan_of([exercise]).tasks[0]
    return advise(task, result, checking.HERE, Ladder(places.ROOT)).lines()
