"""The small arithmetic of the questions, on lists of Python's floats; never in a students' pack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

Row = Sequence[float]


def dot(a: Row, b: Row) -> float:
    """Add up the products of entries."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def columns(matrix: Sequence[Row]) -> list[Row]:
    """Turn rows into columns."""
    return [list(column) for column in zip(*matrix, strict=True)]


def times(row: Row, matrix: Sequence[Row]) -> list[float]:
    """Multiply a row with a matrix."""
    return [dot(row, column) for column in columns(matrix)]


def weights(scores: Row) -> list[float]:
    """Share out 1 over a row of scores."""
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def mixed(of: Row, rows: Sequence[Row]) -> list[float]:
    """Add up rows, each times its weight."""
    return [dot(of, column) for column in columns(rows)]


def several(draw: Random, count: int, most: int = 3) -> list[int]:
    """Draw whole numbers from -most to most, none of them 0."""
    return [draw.choice([-1, 1]) * draw.randint(1, most) for _ in range(count)]


def matrix(draw: Random, rows: int, width: int, most: int = 3) -> list[list[int]]:
    """Draw rows of whole numbers, none of them 0."""
    return [several(draw, width, most) for _ in range(rows)]
