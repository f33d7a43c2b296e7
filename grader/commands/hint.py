"""Hints, one step at a time."""

from __future__ import annotations

import argparse

from grader.commands.usage import UsageError

HELP = "the next hint for a function (three in all), or what a word means"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the function's name."""
    parser.add_argument("name", metavar="NAME", nargs="?",
                        help="causal_mask, or ex03_masking.causal_mask, or a chapter, or a word "
                             "such as strides, broadcasting, gradient "
                             "(default: the next unsolved function)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Try the answer, and print what helps most."""
    from grader import places
    from grader.hints.ask import ask
    from grader.trial import StartError

    answers = given.answers or places.EXERCISES
    if not answers.is_dir():
        raise UsageError(f"there is no folder {answers}")
    try:
        print("\n".join(ask(given.name, answers.resolve())))
    except LookupError as problem:
        raise UsageError(problem.args[0]) from problem
    except StartError as problem:
        raise UsageError(problem) from problem
    return 0
