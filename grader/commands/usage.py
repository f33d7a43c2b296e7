"""What commands share: bad usage, and numbers that must be positive."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


class UsageError(Exception):
    """Bad arguments or set-up; the sentence says what to do."""


def positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """Return a reader of numbers above 0."""

    def parse(text: str) -> float:
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
        return value

    parse.__name__ = kind.__name__
    return parse
