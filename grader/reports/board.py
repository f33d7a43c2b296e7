"""The board: every function as solved, wrong, waiting or not started, points, the next step."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from grader import places
from grader.finishing import lacking
from grader.naming import in_words
from grader.reports.next_step import NextStep, chapter_file, next_step
from grader.results import ExerciseResult, counting, number

STYLES = {
    "solved": "green",
    "to polish": "cyan",
    "wrong": "bold red",
    "waiting": "magenta",
    "not started": "yellow",
    "not run": "dim",
}
TITLE = 14
# no line is longer where there is room, nor is room made for a screen narrower than the other
WIDTH, LEAST = 88, 40
UNBROKEN, NO_BREAK = re.compile(r"python -m grader [\w. ]+|\.ipynb, cell \d+"), "\u00a0"
NOTHING = "nothing: every function is solved"
OF_WHAT_RAN = "all that ran has passed: plain pytest runs the rest, too"
THE_END = "the end: python -m grader finish"


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
    counted = counting(results, device)
    if not short:
        console.print(chapters(counted, device))
    below = Text("\n").join(
        [*totals(results, answers, device), next_line(counted, answers, device)]
    )
    for line in below.split("\n"):
        console.print(_wrapped(line, width), soft_wrap=True)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _wrapped(line: Text, width: int) -> Text:
    """Break a line with a title; never in a place, which editors link, or in a command."""
    whole = UNBROKEN.sub(lambda found: found[0].replace(" ", NO_BREAK), line.plain[TITLE:])
    says = textwrap.wrap(
        whole, max(min(width, WIDTH), LEAST) - TITLE,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return Text.assemble(line[:TITLE], f"\n{'':<{TITLE}}".join(says).replace(NO_BREAK, " "))


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
    for stem, group in groupby(results, key=lambda result: result.stem):
        chapter = list(group)
        ran = [result for result in chapter if result.on(device)]
        if ran:
            earned = sum((result.earned(device) for result in ran), Fraction(0))
            possible = sum((result.points for result in ran), Fraction(0))
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
    return f" for {in_words(names)}" if names else ""


def totals(results: Sequence[ExerciseResult], answers: Path, device: str) -> Iterator[Text]:
    """Write a line for each track: its points, and how many functions are in which state.

    Where nothing was run of what lies beyond the seven chapters, its line points there.
    """
    core = [result for result in results if result.track == "core"]
    further = [result for result in results if result.track == "beyond"]
    begun = any(result.on(device) for result in further)
    if any(result.on(device) for result in core) or not begun:
        yield _total("total", core, device)
    if begun:
        yield _total("beyond", further, device)
    elif further:
        stems = dict.fromkeys(result.stem for result in further)
        says = f"{len(stems)} more chapters" if len(stems) > 1 else "one more chapter"
        where = places.short(chapter_file(next(iter(stems)), results, answers))
        yield Text(f"{'beyond':<{TITLE}}{says}, 100 points besides: {where}", "dim")


def _total(title: str, results: Sequence[ExerciseResult], device: str) -> Text:
    ran = [result for result in results if result.on(device)]
    earned = sum((result.earned(device) for result in ran), Fraction(0))
    possible = sum((result.points for result in ran), Fraction(0))
    counts = ", ".join(_counts(results, device))
    where = " in what was run" if ran != [*results] else ""
    says = f"{number(earned):g} of {number(possible):g} points{where}: {counts}"
    return Text.assemble((f"{title:<{TITLE}}", "bold"), says)


def _counts(results: Sequence[ExerciseResult], device: str) -> Iterator[str]:
    for state in STYLES:
        count = sum(standing(result, device) == state for result in results)
        if count or state not in ("to polish", "waiting", "not run"):
            yield f"{count} {state}"


def next_line(results: Sequence[ExerciseResult], answers: Path, device: str) -> Text:
    """Write the line with the next step, or that there is none."""
    step = next_step(results, answers, device)
    says = _nothing(results, device) if step is None else told(step)
    line = Text.assemble((f"{'next':<{TITLE}}", "bold"), says, "\n")
    if step is not None and step.polish:
        other = next_step(results, answers, device, polish=False)
        if other is not None and not other.polish:
            line.append(f"{'or go on':<{TITLE}}", "bold").append(f"{told(other)}\n")
    return line


def _nothing(results: Sequence[ExerciseResult], device: str) -> str:
    """Say that nothing is left, or nothing in what was run."""
    if any(result.state(device) == "not run" for result in results):
        return OF_WHAT_RAN
    return NOTHING if lacking() else f"{NOTHING}\n{'':<{TITLE}}{THE_END}"


def told(step: NextStep) -> str:
    """Say a step in words, with the command for a hint."""
    if step.trouble:
        return f"{step.where}   {step.trouble}"
    finished = f"{step.finished} is done. " if step.finished else ""
    if not step.name:
        return f"{finished}{step.where}"
    name = f"{step.name} is right, {polish(step.polish)}" if step.polish else step.name
    if step.left:
        return f"{finished}{name}, {step.where}   its `raise` still stands on line {step.left}"
    return f"{finished}{name}, {step.where}   (python -m grader hint {step.name})"


def polish(checks: int) -> str:
    """Say how much polish is left."""
    return f"{checks} {'things' if checks > 1 else 'thing'} to polish"
