"""The board: every function as solved, wrong, waiting or not started, points, the next step."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from grader.reports.next_step import Step, next_step
from grader.results import ExerciseResult, number

STYLES = {
    "solved": "green",
    "wrong": "bold red",
    "waiting": "magenta",
    "not started": "yellow",
    "not run": "dim",
}


def board(
    results: Sequence[ExerciseResult],
    answers: Path,
    *,
    width: int = 100,
    colour: bool = False,
    short: bool = False,
    device: str = "here",
) -> str:
    """Draw the board as text.

    Args:
        results: every exercise, also those that were not run.
        answers: the folder of answers, for the next step.
        width: of the terminal.
        colour: whether to use ANSI colours.
        short: only the total and the next step.
        device: whose checks to show.
    """
    file = io.StringIO()
    console = Console(
        file=file, width=max(width, 60), force_terminal=colour, no_color=not colour,
        highlight=False,
    )  # fmt: skip
    if not short:
        console.print(chapters(results, device))
    # one line each, however long: an editor's terminal makes a link of file and line
    console.print(total(results, device), soft_wrap=True)
    console.print(next_line(results, answers, device), soft_wrap=True, end="")
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def standing(result: ExerciseResult, device: str) -> str:
    """Say how far an exercise is, and of a wrong one whether it only waits for an earlier one."""
    return "waiting" if result.waits_for(device) else result.state(device)


def chapters(
    results: Sequence[ExerciseResult], device: str, *, compact: bool = False
) -> RenderableType:
    """Draw a line for each chapter that was run.

    Args:
        results: every exercise.
        device: whose checks to show.
        compact: do not name the functions of a chapter that all wait or are not started.
    """
    grid = Table.grid(padding=(0, 2))
    for column in ("chapter", "points"):
        grid.add_column(column, no_wrap=True)
    grid.add_column("states")
    for stem, group in groupby(results, key=lambda result: result.exercise.split(".")[0]):
        chapter = list(group)
        if any(result.on(device) for result in chapter):
            earned = sum((result.earned(device) for result in chapter), Fraction(0))
            possible = sum((result.points for result in chapter), Fraction(0))
            points = f"{number(earned):>5g} of {number(possible):<3g}"
            grid.add_row(Text(stem, "bold"), points, _states(stem, chapter, device, compact))
    return grid


def _states(stem: str, results: list[ExerciseResult], device: str, compact: bool) -> Text:
    in_a_word = ("solved", "not started", "waiting") if compact else ("solved",)
    said = []
    for state, style in STYLES.items():
        found = [result for result in results if standing(result, device) == state]
        for reason, group in groupby(found, key=lambda result: _reason(stem, result, device)):
            names = [result.exercise.split(".")[1] for result in group]
            everything = state in in_a_word and len(names) == len(results)
            listed = "all" if everything else ", ".join(names)
            said.append(Text.assemble((f"{state}{reason}: ", style), listed))
    return Text("  ").join(said)


def _reason(stem: str, result: ExerciseResult, device: str) -> str:
    names = [name.removeprefix(f"{stem}.") for name in result.waits_for(device)]
    return f" for {' and '.join(names)}" if names else ""


def total(results: Sequence[ExerciseResult], device: str) -> Text:
    """Write the line with the points, and how many functions are in which state."""
    earned = sum((result.earned(device) for result in results), Fraction(0))
    possible = sum((result.points for result in results), Fraction(0))
    counts = ", ".join(_counts(results, device))
    says = f"{number(earned):g} of {number(possible):g} points: {counts}"
    return Text.assemble((f"{'total':<14}", "bold"), says)


def _counts(results: Sequence[ExerciseResult], device: str) -> Iterator[str]:
    for state in STYLES:
        count = sum(standing(result, device) == state for result in results)
        if count or state not in ("waiting", "not run"):
            yield f"{count} {state}"


def next_line(results: Sequence[ExerciseResult], answers: Path, device: str) -> Text:
    """Write the line with the next step; nothing if there is none to name."""
    step = next_step(results, answers, device)
    if step is None and not all(result.state(device) == "solved" for result in results):
        return Text()
    says = "nothing: every function is solved" if step is None else told(step)
    return Text.assemble((f"{'next':<14}", "bold"), says, "\n")


def told(step: Step) -> str:
    """Say a step in words, with the command for a hint."""
    if step.trouble:
        return f"{step.where}   {step.trouble}"
    finished = f"{step.finished} is done. " if step.finished else ""
    if not step.name:
        return f"{finished}{step.where}"
    return f"{finished}{step.name}, {step.where}   (python -m grader hint {step.name})"
