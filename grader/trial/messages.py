"""What a child is asked, and what it says."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from grader.results import CheckResult

# results travel together, at most so many seconds late: each message wakes the one who waits
HELD = 0.03


@dataclass(frozen=True)
class Ask:
    """Checks to run.

    Attributes:
        folder: the answers.
        checks: full name and check, in order.
        wrong: of exercises that are not asked for, whether they are wrong, as far as is known.
        hanging: exercises that did not come back in an earlier child.
        quick: whether to look for slips only in the first failing checks of an exercise.
        singly: whether to send each result at once: the last child was lost with some unsent.
    """

    folder: Path
    checks: tuple[tuple[str, str], ...]
    wrong: dict[str, bool] = field(default_factory=dict)
    hanging: tuple[str, ...] = ()
    quick: bool = False
    singly: bool = False


@dataclass(frozen=True)
class Loading:
    """A chapter is about to be imported; with no stem: it has been."""

    stem: str


@dataclass(frozen=True)
class Said:
    """One check is done.

    Attributes:
        result: how it went.
        printed: what the answer printed in it.
        stuck: the exercise, or the file, that did not come back; the child ends after that.
    """

    result: CheckResult
    printed: str = ""
    stuck: str = ""


class Sender:
    """The line to whoever waits, which may be used from two threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: list[Loading | Said] = []
        self._since = 0.0
        self.lock = threading.RLock()

    def say(self, message: Loading | Said, *, hold: bool = False) -> None:
        """Send a message, or hold it back for a moment, until there are more."""
        now = time.monotonic()
        with self.lock:
            if not self._held:
                self._since = now
            self._held.append(message)
            if not hold or now - self._since > HELD:
                self.flush()

    def flush(self) -> None:
        """Send what is held back."""
        with self.lock:
            held, self._held = self._held, []
            if held:
                self._connection.send(held)

    def end(self) -> None:
        """Say that everything is done."""
        self.flush()
        self._connection.send([])
