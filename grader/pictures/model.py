"""What a picture is: panels side by side in rows, in plain values that travel between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, cast

from grader.coding import Decoder, plain
from grader.pictures.numbers import Number, number

Scale = Literal["weights", "signed", "mask", "plain"]
Source = Literal["given", "yours", "kit"]
Rows = list[list[Number]]


@dataclass
class DocumentNumbers:
    """The numbers that a document prints: None where it prints none; and which document."""

    cells: Rows
    cites: str
    digits: int = 4


@dataclass
class Panel:
    """One matrix.

    Attributes:
        title: what it is, as `scores`.
        made: how it is made, as `Q K^T`; may be empty.
        cells: the numbers, row by row; None for a cell that is not there.
        rows: a label for each row.
        columns: a label for each column.
        scale: how numbers become colours: weights from 0 to 1, signed around 0, a mask, or none.
        source: given, made by the student's function, or by the kit in its place.
        join: the sign between the panel before and this one, as `@`.
        wrong: True where a cell differs from the right one; empty if none does.
        notes: sentences beneath it.
        printed: what a document prints in this place, if that was asked for.
        digits: how many decimals to show.
    """

    title: str
    cells: Rows
    rows: list[str]
    columns: list[str]
    made: str = ""
    scale: Scale = "signed"
    source: Source = "given"
    join: str = ""
    wrong: list[list[bool]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    printed: DocumentNumbers | None = None
    digits: int = 3

    def is_wrong(self, i: int, j: int) -> bool:
        """Tell whether a cell differs from the right one."""
        return bool(self.wrong) and self.wrong[i][j]

    def text(self, i: int, j: int) -> str:
        """Return what stands in a cell."""
        return number(
            self.cells[i][j], self.digits, fixed=self.scale == "weights" or self.digits < 3
        )

    def reference(self) -> Panel | None:
        """Return the panel of what the document prints, to lay beside this one."""
        if self.printed is None:
            return None
        cells, cites = self.printed.cells, self.printed.cites.split(",", maxsplit=1)[0]
        # what came may have another shape than what is printed
        rows = self.rows if len(self.rows) == len(cells) else [""] * len(cells)
        columns = self.columns if len(self.columns) == len(cells[0]) else [""] * len(cells[0])
        return Panel(
            "printed", cells, rows, columns, made=f"in {cites}", scale=self.scale,
            digits=self.printed.digits,
        )  # fmt: skip


@dataclass
class Curve:
    """Numbers above 0, one after the other: what they are, and what they are counted by."""

    title: str
    values: list[float]
    across: str

    @property
    def top(self) -> float:
        """The largest finite value."""
        return max((value for value in self.values if value < float("inf")), default=0.0)


@dataclass
class Row:
    """A curve, then stacks of panels side by side; a stack's panels stand on one another."""

    title: str = ""
    stacks: list[list[Panel]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    curve: Curve | None = None

    def limit(self) -> float:
        """Return the largest finite size of a signed number: one scale for the whole row."""
        panels = [panel for stack in self.stacks for panel in stack if panel.scale == "signed"]
        tables = [panel.cells for panel in panels]
        tables += [panel.printed.cells for panel in panels if panel.printed]
        sizes = [
            abs(value)
            for table in tables
            for line in table
            for value in line
            if value is not None and abs(value) < float("inf")
        ]
        return max(sizes, default=0.0) or 1.0


@dataclass
class Picture:
    """A picture of one function.

    Attributes:
        name: the function's full name, `ex04_softmax.softmax`.
        says: what it shows, in a sentence.
        rows: what is drawn.
        notes: sentences beneath it.
        trouble: why there is less to see than there might be; a message of several lines.
        state: whether the function is right here, wrong, not there, or did not come to its end.
    """

    name: str
    says: str = ""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    state: Literal["right", "wrong", "not started", "stopped", "no picture"] = "right"


def pack(picture: Picture) -> Any:
    """Turn a picture into what JSON can hold."""
    return plain(picture)


def unpack(packed: Any) -> Picture:
    """Turn it back."""
    return cast("Picture", Decoder().read(packed, Picture))
