"""The board: every function as solved, wrong or not started, the points, and the next step."""

from __future__ import annotations

import ast
import io
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grader.results import ExerciseResult, State, number

STYLES: dict[State, str] = {
    "solved": "green",
    "wrong": "bold red",
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
    console = Console(
        file=io.StringIO(), width=max(width, 60), force_terminal=colour, no_color=not colour,
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    if not short:
        for stem, group in groupby(results, key=lambda result: result.exercise.split(".")[0]):
            chapter = list(group)
            if any(result.on(device) for result in chapter):
                console.print(_chapter(stem, chapter, device, Text()))
    for title, says in _footer(results, answers, device):
        console.print(Text.assemble((f"{title:<14}", "bold"), says))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _chapter(stem: str, results: list[ExerciseResult], device: str, line: Text) -> Text:
    earned = sum((result.earned(device) for result in results), Fraction(0))
    possible = sum((result.points for result in results), Fraction(0))
    line.append(f"{stem:<14}", "bold")
    line.append(f"{number(earned):>6g} of {number(possible):<4g}")
    for state, style in STYLES.items():
        names = [r.exercise.split(".")[1] for r in results if r.state(device) == state]
        if names:
            line.append(f"  {state}: ", style)
            everything = state == "solved" and len(names) == len(results)
            line.append("all" if everything else ", ".join(names))
    return line


def _footer(results: Sequence[ExerciseResult], answers: Path, device: str) -> list[tuple[str, str]]:
    earned = sum((result.earned(device) for result in results), Fraction(0))
    possible = sum((result.points for result in results), Fraction(0))
    counts = [
        f"{sum(result.state(device) == state for result in results)} {state}"
        for state in STYLES
        if state != "not run" or any(result.state(device) == state for result in results)
    ]
    lines = [("total", f"{number(earned):g} of {number(possible):g} points: {', '.join(counts)}")]
    step = next_step(results, device)
    if step is None:
        done = all(result.state(device) == "solved" for result in results)
        return [*lines, ("next", "nothing: every function is solved")] if done else lines
    stem, name = step.exercise.split(".")
    path = answers / f"{stem}.py"
    return [*lines, ("next", _where(path, name))]


def next_step(results: Sequence[ExerciseResult], device: str) -> ExerciseResult | None:
    """Return the first exercise that was run and is not solved."""
    return next((r for r in results if r.state(device) in ("wrong", "not started")), None)


def _where(path: Path, name: str) -> str:
    """Say where a function or class is defined, or where its file is not Python."""
    line = 1
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError as problem:
        return f"{_short(path)}:{problem.lineno or 1}   is not Python yet: {problem.msg}"
    except (OSError, ValueError):
        pass
    else:
        kinds = (ast.FunctionDef, ast.ClassDef)
        named = (n.lineno for n in tree.body if isinstance(n, kinds) and n.name == name)
        line = next(named, 1)
    return f"{name}, {_short(path)}:{line}   (python -m grader hint {name})"


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
