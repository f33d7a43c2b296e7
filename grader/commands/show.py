"""Pictures of what a function does: its scores, masks and weights, from your own code."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.usage import UsageError, positive

if TYPE_CHECKING:
    from grader.pictures.colours import Theme
    from grader.pictures.model import Picture

HELP = "draw what your function does"
MOST_WORDS = 32


def add(parser: argparse.ArgumentParser) -> None:
    """Add the name and what to draw it with."""
    parser.add_argument(
        "name", metavar="NAME", help="attention_weights, or a chapter: ex04_softmax"
    )
    parser.add_argument("--save", type=Path, metavar="FILE",
                       help="into a file that ends in .png, .svg or .html")  # fmt: skip
    parser.add_argument("--against", action="store_true",
                       help="lay the numbers beside it that the documents print")  # fmt: skip
    parser.add_argument("--text", metavar="WORDS", help='your own words: --text "not so bad"')
    parser.add_argument("--theme", choices=("light", "dark"),
                       help="for a light or a dark ground (default: a guess)")  # fmt: skip
    parser.add_argument("--answers", type=Path, metavar="DIR", default=argparse.SUPPRESS,
                       help="folder of your answers")  # fmt: skip
    parser.add_argument("--time-limit", type=positive(float), default=10.0, metavar="S",
                       help="seconds for each call of your functions (default: 10)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Draw on the terminal, or into a file: 0 drawn, 1 the function does not run yet."""
    from grader.showing.child import Request
    from grader.showing.run import ShowError, draw

    request = Request(
        given.name, str(given.answers) if given.answers else None, _words(given.text),
        given.against, given.time_limit,
    )  # fmt: skip
    _can_be_saved(given.save)
    try:
        pictures = draw(request)
        _output(pictures, given.save, given.theme)
    except LookupError as problem:
        raise UsageError(problem.args[0]) from problem
    except (OSError, ShowError) as problem:
        raise UsageError(problem) from problem
    return int(any(picture.state in ("not started", "stopped") for picture in pictures))


def _words(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    words = tuple(text.split())
    if not words:
        raise UsageError('--text takes words: --text "not so bad"')
    if len(words) > MOST_WORDS:
        raise UsageError(f"--text takes at most {MOST_WORDS} words, not {len(words)}")
    return words


def _can_be_saved(file: Path | None) -> None:
    from grader.pictures.saving import problem_with

    problem = problem_with(file) if file else None
    if problem:
        raise UsageError(problem)


def _output(pictures: list[Picture], file: Path | None, theme: Theme | None) -> None:
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal has every letter
    console = Console(highlight=False)
    drawn = [picture for picture in pictures if picture.rows]
    if file is None or not drawn:
        from grader.pictures.terminal import show

        show(pictures, console, theme)
        return
    from grader.pictures.saving import save

    save(pictures, file, theme)
    for picture in pictures:
        for line in picture.trouble:
            console.print(line, markup=False, soft_wrap=True)
    print(f"saved to {file}")
