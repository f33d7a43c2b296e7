"""Notebooks of the chapters, for Jupyter, Colab and Kaggle."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.usage import UsageError, as_usage

HELP = "write the chapters as Jupyter notebooks"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the chapter and the folder."""
    parser.add_argument("chapter", nargs="?", metavar="CHAPTER",
                       help="one chapter, as ex04 (default: all)")  # fmt: skip
    parser.add_argument("--to", type=Path, metavar="DIR",
                       help="where to (default: exercises, beside the files)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Write the notebooks that are not there yet."""
    from grader import places
    from grader.notebooks.write import NoNbformat, write_chapters

    try:
        with as_usage(OSError, NoNbformat):
            written, kept = write_chapters(given.chapter, given.to or places.EXERCISES)
    except SyntaxError as problem:
        raise UsageError(
            f"{problem.filename}, line {problem.lineno} is not Python yet: {problem.msg}"
        ) from problem
    for path in written:
        print(f"wrote {path}")
    if written:
        print("open them in Jupyter: python -m jupyterlab, of the same environment")
    for path in kept:
        print(f"kept {path}: it is there already, and a new one would undo your work in it")
    if not written and not kept:
        print("all of them are there already")
    return 0
