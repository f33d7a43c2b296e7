"""A wrong matrix beside the right one, as plain text for the messages of the suites."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.pictures.grid import Grid, first_wrong
from grader.pictures.model import Panel
from grader.pictures.window import widest, window

ROWS = 7
WIDTH = 84
GAP = "    "
# a column of both matrices takes this much at least
NARROWEST = 4
MOST_DIGITS = 9


def side_by_side(expected: Any, actual: Any, wrong: Any, width: int = WIDTH) -> list[str]:
    """Draw what was expected beside what came; each wrong cell carries a star.

    What is too large is cut down to the rows and columns around the first wrong cell, and then
    their indices stand beside them.

    Args:
        expected: the right values, a tensor of any shape but empty.
        actual: values of the same shape.
        wrong: True where they differ; of more than two dimensions, the first matrix that holds
            a wrong cell is drawn.
        width: of the longest line.

    Returns:
        The lines, with as many columns as there is room for, one at least.
    """
    place, (right, came, marks) = _first_matrix(expected, actual, wrong)
    blank = [""] * len(marks), [""] * len(marks[0])
    left, mine = Panel("expected", right, *blank), Panel("yours", came, *blank, wrong=marks)
    left, mine = _told_apart(left, mine)
    row, column = first_wrong(mine)
    rows = window(len(marks), ROWS, row)

    def fits(columns: range) -> bool:
        return max(map(len, _lines(left, mine, rows, columns))) <= width

    columns = widest(len(marks[0]), width // NARROWEST, column, fits)
    left_out = Grid(left, rows, columns).left_out()
    where = "; ".join(filter(None, [place, left_out]))
    return _with_title(_lines(left, mine, rows, columns), where, width)


def _told_apart(left: Panel, mine: Panel) -> tuple[Panel, Panel]:
    """Show as many digits as it takes to see a difference, if digits can show it."""
    for digits in range(left.digits, MOST_DIGITS + 1):
        more = replace(left, digits=digits), replace(mine, digits=digits)
        if not _look_alike(*more):
            return more
    return left, mine


def _look_alike(left: Panel, mine: Panel) -> bool:
    """Tell whether a wrong number is written like the right one."""
    places = [(i, j) for i, row in enumerate(mine.wrong) for j, wrong in enumerate(row) if wrong]
    return any(left.text(i, j) == mine.text(i, j) for i, j in places)


def _first_matrix(*tensors: Any) -> tuple[str, list[list[list[Any]]]]:
    wrong = tensors[-1]
    shape = tuple(wrong.shape)
    if len(shape) <= 2:
        rows = (1,) * (2 - len(shape)) + shape
        return "", [tensor.reshape(rows).tolist() for tensor in tensors]
    first = tuple(int(i) for i in wrong.nonzero()[0][:-2]) if wrong.any() else (0,) * len(shape[2:])
    place = ", ".join(str(index) for index in first)
    return f"the matrix at [{place}]", [tensor[first].tolist() for tensor in tensors]


def _lines(left: Panel, mine: Panel, rows: range, columns: range) -> list[str]:
    """Draw both matrices; indices stand at their edges where something is left out."""
    if len(rows) < len(left.cells) or len(columns) < len(left.columns):
        indices = [str(j) for j in range(len(left.columns))]
        left = replace(left, rows=[str(i) for i in range(len(left.cells))], columns=indices)
        mine = replace(mine, columns=indices)
    halves = [
        ["".join(segment.text for segment in line) for line in grid.lines()]
        for grid in (Grid(left, rows, columns, marks=False), Grid(mine, rows, columns))
    ]
    # without labels at their edge the lines begin with a space
    cut = [0 if panel.rows[0] else 1 for panel in (left, mine)]
    one, other = ([line[n:] for line in half] for half, n in zip(halves, cut, strict=True))
    width = max(len("expected"), *map(len, one))
    pairs = zip(["expected", *one], ["yours", *other], strict=True)
    return [f"{a:<{width}}{GAP}{b}".rstrip() for a, b in pairs]


def _with_title(lines: list[str], where: str, width: int) -> list[str]:
    if not where:
        return lines
    title = f"{lines[0]}   ({where})"
    return [title, *lines[1:]] if len(title) <= width else [f"({where})", *lines]
