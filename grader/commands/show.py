"""Pictures of what a function does: its scores, masks and weights, from your own code."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.output import add_output, can_be_saved, output
from grader.commands.usage import as_usage, positive

HELP = "draw what your function does"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the name and what to draw it with."""
    parser.add_argument("name", metavar="NAME", help="attention_weights, or a chapter: ex04")
    parser.add_argument("--against", action="store_true",
                       help="show the numbers that the documents print beside yours")  # fmt: skip
    parser.add_argument("--text", metavar="WORDS", help='your own words: --text "not so bad"')
    add_output(parser)
    parser.add_argument("--answers", type=Path, metavar="DIR", default=argparse.SUPPRESS,
                       help="folder of your answers")  # fmt: skip
    parser.add_argument("--time-limit", type=positive(float), default=10.0, metavar="S",
                       help="seconds for each call of your functions (default: 10)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Draw on the terminal, or into a file: 0 drawn, 1 the function does not run yet."""
    from grader.showing.child import PictureRequest, own_words
    from grader.showing.run import ShowError, draw

    can_be_saved(given.save)
    with as_usage(OSError, ValueError, ShowError):
        request = PictureRequest(
            given.name, str(given.answers) if given.answers else None, own_words(given.text),
            given.against, given.time_limit,
        )  # fmt: skip
        pictures = draw(request)
        output(pictures, given.save, given.theme)
    return int(any(picture.state in ("not started", "stopped") for picture in pictures))
