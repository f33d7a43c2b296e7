"""What commands share: bad usage, the folder of answers, and numbers that must be positive."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class UsageError(Exception):
    """Bad arguments or set-up; the sentence says what to do."""


@contextmanager
def as_usage(*kinds: type[Exception]) -> Iterator[None]:
    """Say as bad usage that a name is unknown, and whatever else is of these kinds."""
    try:
        yield
    except LookupError as problem:
        raise UsageError(problem.args[0]) from problem
    except kinds as problem:
        raise UsageError(problem) from problem


def answers_folder(given: argparse.Namespace) -> Path:
    """Return the folder of answers.

    Raises:
        UsageError: there is none.
    """
    from grader import places

    folder: Path = given.answers or places.EXERCISES
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder.absolute()}")
    return folder.resolve()


def positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Return a reader of numbers above 0."""

    def parse(text: str) -> float:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
        return value

    parse.__name__ = kind.__name__
    return parse
