"""Watching: a save, a verdict, the next step."""

from __future__ import annotations

import argparse

from grader.commands.usage import UsageError, answers_folder, as_usage, positive

HELP = "try what you save, and show the verdict and the next step"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the limit, and the way to look for saves."""
    parser.add_argument("--time-limit", type=positive(float), default=10.0, metavar="S",
                        help="seconds for each check (default: 10)")  # fmt: skip
    parser.add_argument("--poll", action="store_true",
                        help="look for saves once a second: for network folders")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Watch until somebody quits."""
    from grader.trial import StartError

    try:
        from grader.watching.watch import Watch, best_show
    except ModuleNotFoundError as problem:
        raise UsageError(f"watch needs {problem.name}: python -m pip install -e .") from problem
    answers = answers_folder(given)
    with as_usage(StartError):
        Watch(answers, best_show(), given.time_limit, poll=given.poll).run()
    return 0
