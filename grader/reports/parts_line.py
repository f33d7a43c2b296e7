"""How far a batch in parts is: one line, on a terminal a bar."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from grader.reports.scores import clean
from grader.reports.table import Speed


class PartsLine:
    """How far the parts are: for a pipe or a log, where a line is written when a part is over."""

    def __init__(self, total: int, parts: int) -> None:
        self.total, self.parts, self.over = total, parts, 0

    def show(self, done: int, over: int) -> None:
        """Say how many submissions are graded, and how many parts are over."""
        if over != self.over:
            self.over = over
            self.say(f"{over} of {self.parts} parts are over, {done} of {self.total} graded")

    def say(self, sentence: str) -> None:
        """Say what has happened."""
        with contextlib.suppress(OSError):  # nobody reads on: no reason to stop grading
            print(f"grader: {clean(sentence)}", file=sys.stderr, flush=True)


class PartsBar(PartsLine):
    """How far the parts are, as a bar; what has happened stands above it."""

    def __init__(self, total: int, parts: int, bar: Progress) -> None:
        super().__init__(total, parts)
        self.bar, self.task = bar, bar.add_task("grading", total=total, over=self._over(0))

    def show(self, done: int, over: int) -> None:
        """Move the bar."""
        self.bar.update(self.task, completed=min(done, self.total), over=self._over(over))

    def _over(self, over: int) -> str:
        return f"{over} of {self.parts} parts are over"


@contextlib.contextmanager
def parts_line(total: int, parts: int) -> Iterator[PartsLine]:
    """Show how far a batch in parts is."""
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield PartsLine(total, parts)
        return
    columns = (
        TextColumn("grading"), BarColumn(bar_width=20), MofNCompleteColumn(), Speed(),
        TextColumn("{task.fields[over]}"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        yield PartsBar(total, parts, bar)
