"""Plain lines, for a pipe or a terminal that knows no ANSI sequences."""

from __future__ import annotations

import sys

from rich.console import Console

from grader.reports import board
from grader.reports.message import parts
from grader.trial.plan import DEVICE
from grader.watching.listing import listing
from grader.watching.view import KEYS, LOADING, View, What

WIDTH = 88


class WatchLines:
    """Prints what happens, one thing below the other."""

    def __init__(self) -> None:
        self._begun = False
        self._told = 0

    def start(self) -> None:
        """Say which letters do something."""
        self._print("keys: " + ", ".join(f"{key} {what}" for key, what in KEYS), LOADING)

    def show(self, view: View, what: What) -> None:
        """Print what is new."""
        if what == "verdict":
            self._verdict(view)
        elif what == "more":
            self._print(*(line.says for line in view.verdict.lines[self._told :]))
            self._told = len(view.verdict.lines)
        elif what == "hint" and view.hint is not None:
            self._print("", *view.hint(WIDTH))
        elif what == "list" and view.listing:
            self._listing(view)
        elif what == "message":
            self._print("", *view.verdict.message.splitlines())
        elif what == "note":
            self._print(view.note)

    def leave(self) -> None:
        """Print nothing more."""

    def _verdict(self, view: View) -> None:
        said = [line.says for line in view.verdict.lines]
        self._told = len(said)
        if view.verdict.message:
            said += ["", *parts(view.verdict.message).lines(WIDTH)]
        if view.verdict.printed.strip():
            printed = view.verdict.printed.rstrip().splitlines()
            said += ["", "your code printed", *(f"    {line}" for line in printed)]
        self._print("", f"--- {view.verdict.title}", *said, "")
        short, self._begun = self._begun, True
        drawn = board.board(view.results, view.answers, width=WIDTH, device=DEVICE, short=short)
        self._print(drawn.rstrip())

    def _listing(self, view: View) -> None:
        console = Console(width=WIDTH, no_color=True, force_terminal=False)
        with console.capture() as captured:
            console.print(listing(view, WIDTH))
        self._print("", *(line.rstrip() for line in captured.get().splitlines()))

    def _print(self, *lines: str) -> None:
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
