"""Laying a picture out: rectangles and words at places, for whatever writes them to a file."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from rich.cells import cell_len

from grader.pictures import colours
from grader.pictures.grid import first_wrong, shortened
from grader.pictures.model import Curve, Panel, Picture, Row
from grader.pictures.numbers import number
from grader.pictures.window import said, window

WIDTH = 1080.0
MARGIN = 28.0
CELL = 28.0
SPACE = 26.0
SMALL, TEXT, JOIN, TITLE = 12.0, 13.0, 16.0, 18.0
# from the top of a panel to its cells
HEAD = TEXT * 1.3 + SMALL * 1.5 + 5
# how wide a letter is at most, as a share of its size: fonts differ from machine to machine
MONO, SANS = 0.61, 0.62
MOST = 64
CURVE_WIDTH, CURVE_HEIGHT = 560.0, 120.0
LONGEST_LABEL = 18


@dataclass(frozen=True)
class GridCell:
    """A cell: its place, its role among the colours, its number, and what a pointer is told."""

    x: float
    y: float
    width: float
    height: float
    role: str
    text: str
    tip: str
    wrong: bool


@dataclass(frozen=True)
class Words:
    """A line of words; `anchor` is start, middle or end, `ink` a colour of the page."""

    x: float
    y: float
    text: str
    size: float = TEXT
    ink: str = "ink"
    anchor: str = "start"
    bold: bool = False
    mono: bool = False


@dataclass(frozen=True)
class Stroke:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    ink: str = "ink"


@dataclass
class Scene:
    """All there is to draw, and how large it is."""

    title: str = ""
    width: float = 0.0
    height: float = 0.0
    cells: list[GridCell] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    strokes: list[Stroke] = field(default_factory=list)

    def put(self, words: Words) -> None:
        """Add words, and make room for them."""
        if not words.text:
            return
        self.words.append(words)
        if words.anchor == "start":
            share = MONO if words.mono else SANS
            self.reach(words.x + share * words.size * cell_len(words.text), words.y + 4)

    def reach(self, x: float, y: float) -> None:
        """Make room."""
        self.width, self.height = max(self.width, x), max(self.height, y)


def lay_out(pictures: list[Picture]) -> Scene:
    """Lay pictures out, one beneath the other."""
    scene = Scene(title=", ".join(picture.name for picture in pictures))
    y = MARGIN
    for picture in pictures:
        y = _picture(scene, picture, y) + SPACE
    scene.reach(0, y - SPACE)
    scene.width, scene.height = scene.width + MARGIN, scene.height + MARGIN
    return scene


def _picture(scene: Scene, picture: Picture, y: float) -> float:
    y += TITLE
    scene.put(Words(MARGIN, y, picture.name, TITLE, bold=True))
    y = _paragraph(scene, picture.says, y + 4, "muted") + 4
    for row in picture.rows:
        y = _row(scene, row, y + SPACE / 2)
    for note in picture.notes:
        y = _paragraph(scene, note, y + 6)
    for line in picture.trouble:
        y += TEXT * 1.4
        scene.put(Words(MARGIN, y, line, TEXT, "bad", mono=True))
    return y


def _paragraph(scene: Scene, text: str, y: float, ink: str = "ink") -> float:
    after = "  " if text.startswith("- ") else ""
    width = int((WIDTH - 2 * MARGIN) / (SANS * TEXT))
    for line in textwrap.wrap(text, width, subsequent_indent=after):
        y += TEXT * 1.4
        scene.put(Words(MARGIN, y, line, TEXT, ink))
    return y


def _row(scene: Scene, row: Row, y: float) -> float:
    if row.title:
        y = _paragraph(scene, row.title, y, "muted") + 10
    if row.curve:
        y = _curve(scene, row.curve, y) + (14 if row.stacks else 0)
    limit, x, bottom = row.limit(), MARGIN, y
    for block in _blocks(row):
        sign = MONO * JOIN * len(block.join) + 20 if block.join else 0.0
        if x > MARGIN and x + sign + block.width > WIDTH:
            x, y = MARGIN, bottom + 14
        if block.join:
            middle = y + HEAD + CELL * len(block.stacks[0][0].rows) / 2 + 5
            centre = x + (sign - SPACE / 2) / 2
            scene.put(Words(centre, middle, block.join, JOIN, anchor="middle", bold=True))
            x += sign - SPACE / 2
        for stack in block.stacks:
            below = y
            for grid in stack:
                below = grid.put(scene, x, below, limit) + 8
            x, bottom = x + stack[0].room + SPACE, max(bottom, below)
    beneath = [f"{p.title}: {n}" for stack in row.stacks for p in stack for n in p.notes]
    for note in [*row.notes, *beneath]:
        bottom = _paragraph(scene, note, bottom)
    return bottom


def _curve(scene: Scene, curve: Curve, y: float) -> float:
    """Draw a curve above its axes, and return where it ends."""
    y += TEXT * 1.3
    scene.put(Words(MARGIN, y, curve.title, TEXT, bold=True))
    y, left, top = y + 16, MARGIN + 50, curve.top or 1.0
    low, right = y + CURVE_HEIGHT, left + CURVE_WIDTH
    scene.put(Words(left - 8, y + 4, number(top), SMALL, "muted", "end"))
    scene.put(Words(left - 8, low + 4, "0", SMALL, "muted", "end"))
    scene.strokes.append(Stroke(((left, y), (left, low), (right, low)), "muted"))
    apart = CURVE_WIDTH / max(len(curve.values) - 1, 1)
    points = ((left + i * apart, low - min(value, top) / top * CURVE_HEIGHT)
              for i, value in enumerate(curve.values))  # fmt: skip
    scene.strokes.append(Stroke(tuple(points), "curve"))
    low += SMALL * 1.5
    last = f"{curve.across} {len(curve.values) - 1}"
    scene.put(Words(left, low, "0", SMALL, "muted", "middle"))
    scene.put(Words(right, low, last, SMALL, "muted", "end"))
    scene.reach(right, low + 4)
    return low + 4


@dataclass
class Block:
    """What stays together: a stack of panels, and what a document prints in its place."""

    stacks: list[list[Measured]]
    join: str

    @property
    def width(self) -> float:
        """How much room it takes."""
        return sum(stack[0].room for stack in self.stacks) + SPACE * (len(self.stacks) - 1)


def _blocks(row: Row) -> list[Block]:
    blocks = []
    for stack in row.stacks:
        printed = stack[-1].reference()
        stacks = [_measured(stack), *([_measured([printed])] if printed else [])]
        block = Block(stacks, stack[0].join)
        if block.width <= WIDTH - 2 * MARGIN:
            blocks.append(block)
        else:
            blocks += [Block([each], "" if n else block.join) for n, each in enumerate(stacks)]
    return blocks


def _measured(panels: list[Panel]) -> list[Measured]:
    """Measure panels that stand on one another; those with as many columns have them as wide."""
    grids = [Measured(panel) for panel in panels]
    edge = max(grid.edge for grid in grids)
    for grid in grids:
        alike = [other.cell for other in grids if len(other.columns) == len(grid.columns)]
        grid.cell, grid.edge = max(alike), edge
    room = max(grid.width for grid in grids)
    for grid in grids:
        grid.room = room
    return grids


class Measured:
    """A panel, measured.

    Attributes:
        panel: what it draws.
        edge: the room for the rows' labels.
        cell: how wide a cell is.
        rows: those that fit.
        columns: those that fit.
        room: how wide its stack is.
    """

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        longest = max((cell_len(_short(label)) for label in panel.rows), default=0)
        self.edge = longest * SANS * SMALL + 8 if longest else 0.0
        self.cell = _cell_width(panel)
        row, column = first_wrong(panel)
        fit = int((WIDTH - 2 * MARGIN - self.edge) / self.cell)
        self.rows = window(len(panel.cells), MOST, row)
        self.columns = window(len(panel.columns), fit, column)
        self.room = self.width

    @property
    def head(self) -> str:
        """What stands beside the title."""
        return self.panel.made + (" (the kit's)" if self.panel.source == "kit" else "")

    @property
    def after_title(self) -> float:
        """Where that begins."""
        return (len(self.panel.title) + 1) * SANS * TEXT * 1.06

    @property
    def width(self) -> float:
        """How wide it is."""
        title = self.after_title + len(self.head) * SANS * SMALL
        return max(self.edge + self.cell * len(self.columns), title)

    def put(self, scene: Scene, x: float, y: float, limit: float) -> float:
        """Put it at a place, and return where it ends."""
        panel, left = self.panel, x + self.edge
        y += TEXT * 1.3
        scene.put(Words(x, y, panel.title, TEXT, bold=True))
        scene.put(Words(x + self.after_title, y, self.head, SMALL, "muted"))
        if any(panel.columns):
            y += SMALL * 1.5
            for n, j in enumerate(self.columns):
                place = left + (n + 0.5) * self.cell
                scene.put(Words(place, y, _short(panel.columns[j]), SMALL, "muted", "middle"))
        y += 5
        for i in self.rows:
            scene.put(
                Words(left - 6, y + CELL * 0.66, _short(panel.rows[i]), SMALL, "muted", "end")
            )
            for n, j in enumerate(self.columns):
                scene.cells.append(_cell(panel, i, j, (left + n * self.cell, y, self.cell), limit))
            y += CELL
        scene.reach(left + len(self.columns) * self.cell, y)
        return self._left_out(scene, left, y)

    def _left_out(self, scene: Scene, x: float, y: float) -> float:
        panel = self.panel
        parts = [
            said("row", self.rows, len(panel.cells)),
            said("column", self.columns, len(panel.columns)),
        ]
        if not any(parts):
            return y
        y += SMALL * 1.3
        scene.put(Words(x, y, ", ".join(filter(None, parts)), SMALL, "muted"))
        return y


def _cell_width(panel: Panel) -> float:
    places = [(i, j) for i in range(len(panel.cells)) for j in range(len(panel.columns))]
    longest = max((len(panel.text(i, j)) + 2 for i, j in places), default=3)
    labels = max((cell_len(_short(label)) for label in panel.columns), default=0)
    return max(longest * MONO * TEXT, labels * SANS * SMALL + 6, CELL)


def _short(label: str) -> str:
    return shortened(label, LONGEST_LABEL)


def _cell(panel: Panel, i: int, j: int, at: tuple[float, float, float], limit: float) -> GridCell:
    value, (x, y, width) = panel.cells[i][j], at
    wrong = panel.is_wrong(i, j)
    role = "" if value is None else colours.role(value, panel.scale, limit)
    where = ", ".join(filter(None, [panel.rows[i], panel.columns[j]]))
    tip = f"{panel.title} [{where}]: {number(value, 6)}{', differs' if wrong else ''}"
    return GridCell(x, y, width, CELL, role, panel.text(i, j), tip, wrong)
