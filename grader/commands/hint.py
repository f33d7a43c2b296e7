"""Hints, one step at a time."""

from __future__ import annotations

import argparse

from grader.commands.usage import answers_folder, as_usage

HELP = "the next hint for a function (three in all), or what a word means"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the function's name."""
    parser.add_argument("name", metavar="NAME", nargs="?",
                        help="causal_mask, or ex03_masking.causal_mask, or a chapter, or a word "
                             "such as strides, broadcasting, gradient "
                             "(default: the next unsolved function)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Try the answer, and print what helps most."""
    from grader.hints.ask import ask
    from grader.trial import StartError

    answers = answers_folder(given)
    with as_usage(StartError):
        print("\n".join(ask(given.name, answers)))
    return 0
