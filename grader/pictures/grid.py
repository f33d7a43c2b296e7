"""A matrix as lines of text: the one way of drawing one, for messages and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from grader.pictures.model import Panel
from grader.pictures.window import said, widest, window

MARK = "*"
MOST_ROWS = 40
# a row says what it is before all else: its label has as much as a third of the width
LONGEST = 30
# how many digits and how long labels: as many columns as can be are worth more than both
SHRINKING = ((9, 14), (2, 14), (2, 8), (1, 5))


class Segment(NamedTuple):
    """A piece of a line: a label, a cell's number, or the mark after it, and which cell it is."""

    text: str
    kind: str
    place: tuple[int, int] = (-1, -1)


Line = list[Segment]


@dataclass
class Grid:
    """A panel, cut down to some rows and columns.

    Attributes:
        panel: the matrix.
        rows: those that are drawn.
        columns: those that are drawn.
        label: how long a column's label may be.
        row_label: how long a row's label may be.
        marks: whether there is room for a mark after each number.
    """

    panel: Panel
    rows: range
    columns: range
    label: int = SHRINKING[0][1]
    row_label: int = LONGEST
    marks: bool = True

    @property
    def edge(self) -> int:
        """How wide the rows' labels are."""
        return max((cell_len(self._row(i)) for i in self.rows), default=0)

    @property
    def widths(self) -> list[int]:
        """How wide the numbers of each column are."""
        return [
            max(
                cell_len(self._short(self.panel.columns[j])) - self.marks,
                *(len(self.panel.text(i, j)) for i in self.rows),
            )
            for j in self.columns
        ]

    @property
    def width(self) -> int:
        """How wide the lines are."""
        return self._margin(self.edge) + sum(width + 1 + self.marks for width in self.widths)

    def lines(self, edge: int | None = None, widths: Sequence[int] | None = None) -> list[Line]:
        """Draw it: the columns' labels, if there are any, and then row by row.

        Args:
            edge: room for the rows' labels, if it is to be more than they need.
            widths: room for the numbers of each column, if it is to be more than they need.
        """
        edge = self.edge if edge is None else edge
        wide = list(zip(self.columns, self.widths if widths is None else widths, strict=True))
        slot, lines = " " * self.marks, []
        if any(self.panel.columns):
            labels = [
                _right(self._short(self.panel.columns[j]), width + 1) + slot for j, width in wide
            ]
            texts = [" " * self._margin(edge), *labels]
            lines.append([Segment(text, "label") for text in texts])
        for i in self.rows:
            label = _right(self._row(i), edge) + " " * (edge > 0)
            line = [Segment(label, "label")]
            for j, width in wide:
                line.append(Segment(f" {self.panel.text(i, j):>{width}}", "cell", (i, j)))
                if self.marks:
                    bad = self.panel.is_wrong(i, j)
                    line.append(Segment(MARK if bad else " ", "mark", (i, j)))
            lines.append(line)
        return lines

    def left_out(self) -> str:
        """Say which part is drawn; nothing where it is everything."""
        cells = self.panel.cells
        parts = [said("row", self.rows, len(cells)), said("column", self.columns, len(cells[0]))]
        return ", ".join(filter(None, parts))

    def _row(self, i: int) -> str:
        return shortened(self.panel.rows[i], self.row_label)

    def _short(self, label: str) -> str:
        return shortened(label, self.label)

    @staticmethod
    def _margin(edge: int) -> int:
        return edge + (edge > 0)


def shortened(label: str, longest: int) -> str:
    """Cut a label down, by the room that its letters take: some take two places."""
    return label if cell_len(label) <= longest else set_cell_size(label, longest - 1) + "."


def _right(label: str, width: int) -> str:
    return " " * (width - cell_len(label)) + label


def fitted(panel: Panel, width: int) -> Grid:
    """Cut a panel down to a width, around its first wrong cell: rather digits than columns."""
    row, column = first_wrong(panel)
    rows = window(len(panel.cells), MOST_ROWS, row)
    row_label = min(LONGEST, width // 3)
    for digits, label in SHRINKING:
        smaller = replace(panel, digits=min(digits, panel.digits))

        def fits(columns: range, smaller: Panel = smaller, label: int = label) -> bool:
            return Grid(smaller, rows, columns, label, row_label).width <= width

        columns = widest(len(panel.columns), width // 3, column, fits)
        if len(columns) == len(panel.columns):
            break
    return Grid(smaller, rows, columns, label, row_label)


def first_wrong(panel: Panel) -> tuple[int, int]:
    """Return the first wrong cell; the very first one if none is."""
    places = ((i, j) for i, row in enumerate(panel.wrong) for j, bad in enumerate(row) if bad)
    return next(places, (0, 0))
