"""The loop: saves and keys come in, verdicts go out. All that waits does so without being busy."""

from __future__ import annotations

import queue
import sys
from dataclasses import dataclass
from pathlib import Path

from grader.trial import Children
from grader.watching.acts import Acts
from grader.watching.files import Files
from grader.watching.keys import Keys
from grader.watching.rounds import Rounds
from grader.watching.runner import Runner, TrialEnded, Tried
from grader.watching.signals import listening, uninterrupted
from grader.watching.view import Show, View


@dataclass(frozen=True)
class Saved:
    """A file of the folder was written, removed or renamed; "": the folder is a new one."""

    name: str


@dataclass(frozen=True)
class Pressed:
    """A key was pressed."""

    key: str


@dataclass(frozen=True)
class Changed:
    """The terminal has changed."""


Event = Saved | Pressed | Changed | Tried | TrialEnded
LONGEST = 1.0  # seconds of one wait


class Watch:
    """Watches one folder of answers.

    Args:
        answers: the folder.
        show: how to show what happens.
        seconds: the time limit of a check.
        poll: whether to look for saves once a second.
    """

    def __init__(
        self, answers: Path, show: Show, seconds: float = 10.0, *, poll: bool = False
    ) -> None:
        self._answers, self._show = answers, show
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._children = Children(seconds, spare=True)
        self._runner = Runner(self._children, self._events.put)
        self._files = Files(answers, lambda name: self._events.put(Saved(name)), poll)
        self._keys = Keys(lambda key: self._events.put(Pressed(key)))

    def run(self) -> None:
        """Watch until somebody quits.

        Raises:
            StartError: no process can be started to try answers in.
        """
        self._show.start()
        try:
            with listening(lambda: self._events.put(Changed())):
                self._keys.start()
                self._loop(View(self._children.plan(), self._answers))
        except KeyboardInterrupt:
            pass  # one way to quit among others
        finally:
            with uninterrupted():
                self._keys.stop()
                self._files.stop()
                self._runner.close()
                self._show.leave()

    def _loop(self, view: View) -> None:
        rounds = Rounds(view, self._show, self._runner)
        acts = Acts(view, self._show, rounds, self._keys)
        self._files.start()
        rounds.everything()
        going = True
        while going:
            event = self._next(rounds.wait())
            if isinstance(event, Pressed):
                going = acts.press(event.key)
            elif isinstance(event, Saved):
                self._saved(event.name, rounds)
            elif isinstance(event, Tried):
                rounds.tried(event)
            elif isinstance(event, TrialEnded):
                rounds.ended(event)
            elif isinstance(event, Changed):
                self._show.show(view, "again")
            else:
                rounds.time_passed()

    def _saved(self, name: str, rounds: Rounds) -> None:
        if name:
            rounds.saved(name)
        else:
            self._files.again()
            rounds.everything()

    def _next(self, seconds: float | None) -> Event | None:
        """Wait for what comes next; None if only time has passed."""
        # Ctrl-C may go to another thread, or come just before a wait: it is noticed after it
        try:
            return self._events.get(timeout=LONGEST if seconds is None else min(seconds, LONGEST))
        except queue.Empty:
            return None


def best_show() -> Show:
    """Choose the whole screen where there is one that understands how it is drawn."""
    from rich.console import Console

    from grader.watching.lines import WatchLines
    from grader.watching.screen import Screen

    console = Console(highlight=False)
    plain = console.is_dumb_terminal or console.legacy_windows or not sys.stdin.isatty()
    return WatchLines() if plain or not sys.stdout.isatty() else Screen(console)
