"""A solved function beside the reference answer, two more ways to write it, and PyTorch's own."""

from __future__ import annotations

import argparse
import io
import sys

from grader.commands.usage import UsageError, positive

HELP = "lay a function that you have solved beside the reference answer"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the name."""
    parser.add_argument("name", metavar="NAME", help="attention_weights, or a chapter: ex04")
    parser.add_argument("--time-limit", type=positive(float), default=10.0, metavar="S",
                        help="seconds for each check (default: 10)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Compare: 0 something was solved, 1 nothing was."""
    from rich.console import Console

    from grader import places
    from grader.comparing import screen
    from grader.comparing.compare import compare
    from grader.comparing.here import LEFT_OUT, anything_there
    from grader.showing.run import ShowError
    from grader.trial import StartError

    answers = (given.answers or places.EXERCISES).resolve()
    if not answers.is_dir():
        raise UsageError(f"there is no folder {answers}")
    if not anything_there():
        raise UsageError(LEFT_OUT)
    try:
        found = compare(given.name, answers, given.time_limit)
    except LookupError as problem:
        raise UsageError(problem.args[0]) from problem
    except (StartError, ShowError) as problem:
        raise UsageError(problem) from problem
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not every terminal has every letter
    screen.draw(found, Console(highlight=False))
    return int(not found.seen)
