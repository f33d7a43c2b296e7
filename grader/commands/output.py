"""Where pictures go: onto the terminal, or into a file."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.usage import UsageError

if TYPE_CHECKING:
    from grader.pictures.colours import Theme
    from grader.pictures.model import Picture


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the file and the theme."""
    parser.add_argument("--save", type=Path, metavar="FILE",
                       help="into a file that ends in .png, .svg or .html")  # fmt: skip
    parser.add_argument("--theme", choices=("light", "dark"),
                       help="for a light or a dark ground (default: a guess)")  # fmt: skip


def can_be_saved(file: Path | None) -> None:
    """Refuse a file that pictures cannot be saved to, before anything is computed."""
    from grader.pictures.saving import problem_with

    problem = problem_with(file) if file else None
    if problem:
        raise UsageError(problem)


def output(pictures: list[Picture], file: Path | None, theme: Theme | None) -> None:
    """Print pictures, or save them.

    Raises:
        OSError: they cannot be saved.
    """
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
