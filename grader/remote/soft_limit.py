"""The limit of an answer's own processor time that it may catch; a harder one is set outside."""

from __future__ import annotations

import signal
from typing import Any

from grader.trouble import TimeLimit


class Clock:
    """Whether an alarm has to wait for a message to be read to its end, and whether one does."""

    held = 0
    late = False


clock = Clock()


def ring(*_: Any) -> None:
    """Raise TimeLimit now, or once the message that is being read has come."""
    if not clock.held:
        raise TimeLimit
    clock.late = True


class SoftLimit:
    """Raises TimeLimit in an answer that uses the processor for too long.

    Whoever swallows it, or only waits, is ended from outside.
    """

    def __init__(self, ms: int) -> None:
        self._ms = ms if hasattr(signal, "setitimer") else 0

    def __enter__(self) -> None:
        if self._ms > 0:
            signal.setitimer(signal.ITIMER_PROF, self._ms / 1000)

    def __exit__(self, *_: object) -> None:
        if self._ms > 0:
            signal.setitimer(signal.ITIMER_PROF, 0)
            clock.late = False
