"""The grader's table on the terminal, and how far a batch is while it runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from grader.reports.digest import not_run
from grader.reports.scores import clean, points, show_scores, without_middle
from grader.results import Run, SubmissionResult

NAME = 24
# so many files of one submission
NAMED = 5


class ProgressLines:
    """How far a batch is, as a line for each submission: for a pipe or a log.

    Args:
        total: how many there are.
        stream: where it is shown.
        scored: whether what is earned is the score; False where a course's rules make it later.
    """

    def __init__(self, total: int, stream: TextIO, scored: bool = True) -> None:
        self.total, self.done, self.unchanged, self.stream = total, 0, 0, stream
        self.scored = scored

    def after_each(self, result: SubmissionResult, known: bool) -> None:
        """Take note of one more result, and of whether it was known before."""
        self.done += 1
        self.unchanged += known
        with contextlib.suppress(OSError):  # nobody reads on: no reason to stop grading
            self.show(result, known)

    def show(self, result: SubmissionResult, known: bool) -> None:
        """Print a line."""
        place = f"{self.done:>{len(str(self.total))}}/{self.total}"
        same = " (unchanged)" if known else ""
        print(f"{place} {clean(result.identity)}: {self.said(result)}{same}",
              file=self.stream, flush=True)  # fmt: skip

    def said(self, result: SubmissionResult) -> str:
        """Say what came of a submission, without points that are not those of its reports."""
        return _said(result) if self.scored or result.problem else "graded"


class Bar(ProgressLines):
    """How far a batch is, as a bar with the time left and the last verdict."""

    def __init__(self, total: int, stream: TextIO, scored: bool, bar: Progress) -> None:
        super().__init__(total, stream, scored)
        self.bar = bar
        self.task = bar.add_task("grading", total=total, last="", unchanged="")

    def show(self, result: SubmissionResult, known: bool) -> None:
        """Move the bar; what was known before is no work, and tells nothing of the speed."""
        said = f"{self.unchanged} unchanged  " if self.unchanged else ""
        last = f"{without_middle(clean(result.identity), NAME)}: {self.said(result)}"
        self.bar.update(
            self.task, advance=0 if known else 1, total=self.total - self.unchanged,
            last=last, unchanged=said,
        )  # fmt: skip


class Speed(ProgressColumn):
    """Submissions a second, over the whole run so far."""

    def render(self, task: Task) -> Text:
        """Say nothing before there is anything to say."""
        speed = task.completed / task.elapsed if task.elapsed else 0.0
        return Text(f"{speed:.2g} a second" if speed else "")


@contextlib.contextmanager
def progress(total: int, scored: bool = True) -> Iterator[ProgressLines]:
    """Show how far a batch is: a bar on a terminal, lines elsewhere.

    Args:
        total: how many submissions there are.
        scored: whether what is earned is the score; False where a course's rules make it later.
    """
    stream = _forgiving(sys.stderr)
    console = Console(file=stream)
    if not stream.isatty() or console.is_dumb_terminal:
        yield ProgressLines(total, stream, scored)
        return
    columns = (
        TextColumn("grading"), BarColumn(bar_width=20), MofNCompleteColumn(),
        TextColumn("{task.fields[unchanged]}"), Speed(), TimeRemainingColumn(),
        # what is left of the line: a long problem takes nothing from the bar
        TextColumn("{task.fields[last]}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, expand=True) as bar:
        yield Bar(total, stream, scored, bar)


def show(run: Run, unchanged: int = 0) -> None:
    """Print the table of a run."""
    console = Console(file=_forgiving(sys.stdout), soft_wrap=False, highlight=False)
    graded = [submission for submission in run.submissions if not submission.problem]
    if graded:
        show_scores(graded, console)
    _say_of_each(run, console)
    console.print(Text(f"\n{_summary(run, unchanged)}"), soft_wrap=True)
    if run.isolation:
        console.print(Text(f"isolation: {run.isolation}"), soft_wrap=True)
    for device in run.devices:
        if run.devices[device] != "run":
            console.print(Text(f"{device}: {not_run(run, device)}"), soft_wrap=True)


def _say_of_each(run: Run, console: Console) -> None:
    for submission in run.submissions:
        if submission.problem:
            said = f"{clean(submission.identity)} {_said(submission)}"
            console.print(Text(said, style="red"), soft_wrap=True)
            if submission.unused:
                console.print(Text(f"  not used: {_listed(submission.unused)}"), soft_wrap=True)
    for submission in run.submissions:
        for note in submission.notes:
            console.print(Text(f"{clean(submission.identity)}: {clean(note)}"), soft_wrap=True)
    for said, names in (("passed over", run.passed_over), ("handed in nothing", run.absent)):
        if names:
            console.print(Text(f"{said}: {_listed(names)}"), soft_wrap=True)
    others = sum(bool(one.unused) for one in run.submissions if not one.problem)
    if others:
        of = "1 submission holds files" if others == 1 else f"{others} submissions hold files"
        console.print(Text(f"{of} that are not used: json, csv and html name them"), soft_wrap=True)


def _summary(run: Run, unchanged: int) -> str:
    graded = sum(not submission.problem for submission in run.submissions)
    before = f" ({unchanged} before, and unchanged)" if unchanged else ""
    said = f"{graded} of {len(run.submissions)} graded{before}, seed {run.seed}, torch {run.torch}"
    own = [f"{clean(s.identity)}: seed {s.seed}" for s in run.submissions if s.seed is not None]
    return f"{said}\nchanged or new since, so with new inputs: {', '.join(own)}" if own else said


def _listed(names: Sequence[str]) -> str:
    # a name may hold a comma itself, with the family name first
    between = "; " if any("," in name for name in names) else ", "
    said = between.join(clean(name) for name in names[:NAMED])
    return said + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _said(submission: SubmissionResult) -> str:
    if submission.problem:
        return f"could not be graded: {clean(submission.problem)}"
    alone = submission.of("beyond") and not submission.of("core")
    score = submission.beyond if alone else submission.score
    return " and ".join(f"{points(score(device))} on {device}" for device in submission.devices)


def _forgiving(stream: TextIO) -> TextIO:
    """Let a stream that lacks a character spell it out rather than fail."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
    return stream
