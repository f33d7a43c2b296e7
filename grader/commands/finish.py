"""The end: your own model, trained by your own functions, what you have built, what to read."""

from __future__ import annotations

import argparse

from grader.commands.output import add_output, can_be_saved, output
from grader.commands.usage import UsageError, as_usage, positive

HELP = "the end: train your own model, see what you have built, and what to read next"
MOST_SENTENCES, MOST_WORDS = 12, 12


def add(parser: argparse.ArgumentParser) -> None:
    """Add one's own sentences, and where to draw."""
    parser.add_argument("--text", action="append", default=[], metavar="SENTENCE",
                       help='a sentence of your own to learn, --text "tea is what i like"; '
                            "may be given more than once")  # fmt: skip
    add_output(parser)
    parser.add_argument("--time-limit", type=positive(float), default=20.0, metavar="S",
                       help="seconds for each call of your functions (default: 20)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Draw the end: 0 all of it, 1 something is not there yet, or stopped."""
    from grader.finishing import lacking
    from grader.naming import in_words

    if lacking():
        raise UsageError(f"`finish` trains a model of {in_words(lacking())}: not in this kit")
    from grader.finishing.child import NAME, Finish
    from grader.showing.run import ShowError, drawn

    answers = str(given.answers) if given.answers else None
    job = Finish(answers, tuple(map(_sentence, given.text)), given.time_limit)
    if len(given.text) > MOST_SENTENCES:
        raise UsageError(f"--text may come {MOST_SENTENCES} times, not {len(given.text)} times")
    can_be_saved(given.save)
    with as_usage(OSError, ShowError):
        pictures = drawn(job, NAME)
        output(pictures, given.save, given.theme)
    return int(any(picture.state == "stopped" for picture in pictures))


def _sentence(text: str) -> tuple[str, ...]:
    words = tuple(text.split())
    if not 2 <= len(words) <= MOST_WORDS:
        raise UsageError(
            f"--text takes a sentence of 2 to {MOST_WORDS} words, whose last word is to follow "
            f'the others: --text "tea is what i like"'
        )
    return words
