"""A solved function beside the reference answer, two more ways to write it, and PyTorch's own."""

from __future__ import annotations

import argparse
import io
import sys

from grader.commands.usage import UsageError, answers_folder, as_usage, positive

HELP = "lay a function that you have solved beside the reference answer"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the name."""
    parser.add_argument("name", metavar="NAME", help="attention_weights, or a chapter: ex04")
    parser.add_argument("--time-limit", type=positive(float), default=10.0, metavar="S",
                        help="seconds for each check (default: 10)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Compare: 0 something was solved, 1 nothing was."""
    from rich.console import Console

    from grader.comparing import LEFT_OUT, anything_there, screen
    from grader.comparing.compare import compare
    from grader.showing.run import ShowError
    from grader.trial import StartError

    answers = answers_folder(given)
    if not anything_there():
        raise UsageError(LEFT_OUT)
    with as_usage(StartError, ShowError):
        found = compare(given.name, answers, given.time_limit)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal has every letter
    screen.draw(found, Console(highlight=False))
    return int(not found.seen)
