"""The grader's table on the terminal, and a line for each submission as it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from fractions import Fraction

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from grader.results import DEVICES, Run, SubmissionResult, number

SAYS = {"absent": "not run: no CUDA device here", "not asked": "not run: not asked for"}


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[SubmissionResult], None]]:
    """Show how far a batch is, on a terminal only; give it each result as it comes."""
    console = Console(stderr=True)
    columns = (
        TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
    )  # fmt: skip
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task("grading", total=total, last="")

        def after_each(result: SubmissionResult) -> None:
            score = result.score("cpu")
            said = "" if score is None else f" {number(score):g}"
            bar.update(task, advance=1, last=escape(_clean(result.identity) + said))

        yield after_each


def show(run: Run) -> None:
    """Print the table of a run."""
    console = Console(soft_wrap=False, highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("submission", no_wrap=True)
    for name in ("cpu", "cuda", "solved", "wrong", "not started"):
        table.add_column(name, justify="right")
    for submission in run.submissions:
        if not submission.problem:
            table.add_row(escape(_clean(submission.identity)), *_cells(submission))
    if table.row_count:
        console.print(table)
    for submission in run.submissions:
        if submission.problem:
            name, problem = _clean(submission.identity), _clean(submission.problem)
            console.print(
                escape(f"{name} could not be graded: {problem}"), style="red", soft_wrap=True
            )
    graded = sum(not submission.problem for submission in run.submissions)
    total = len(run.submissions)
    console.print(f"\n{graded} of {total} graded, seed {run.seed}, torch {run.torch}")
    for device in DEVICES:
        if run.devices[device] != "run":
            console.print(f"{device}: {SAYS[run.devices[device]]}")


def _cells(submission: SubmissionResult) -> list[str]:
    first = submission.devices[0]
    scores = [_points(submission.score(device)) for device in DEVICES]
    return [
        *scores,
        str(submission.count("solved", first)),
        str(submission.count("wrong", first)),
        str(submission.count("not started", first)),
    ]


def _points(score: Fraction | None) -> str:
    return "not run" if score is None else f"{number(score):.2f}"


def _clean(text: str) -> str:
    """Keep control characters of a name away from the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)
