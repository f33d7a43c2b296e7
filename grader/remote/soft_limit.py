"""The limit of an answer's own processor time that it may catch; a harder one is set outside."""

from __future__ import annotations

import signal
from typing import Any

from grader.trouble import TimeLimit


class Alarm:
    """What keeps an alarm from ringing in the middle of a message.

    Attributes:
        waits_for: so many replies are being waited for; until the last has come it keeps still.
        is_late: whether it would have rung meanwhile.
    """

    waits_for = 0
    is_late = False


alarm = Alarm()


def ring(*_: Any) -> None:
    """Raise TimeLimit now, or once the message that is being read has come."""
    if not alarm.waits_for:
        raise TimeLimit
    alarm.is_late = True


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
            alarm.is_late = False
