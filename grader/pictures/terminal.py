"""A picture on the terminal: heat maps in colour, and still readable without."""

from __future__ import annotations

import os
import textwrap
from dataclasses import dataclass, replace

from rich.console import Console
from rich.text import Text

from grader.pictures import colours, curve
from grader.pictures.colours import Theme
from grader.pictures.grid import MOST_ROWS, Segment, fitted
from grader.pictures.model import Curve, Panel, Picture, Row
from grader.pictures.numbers import Number

SHADES = " ░▒▓█"
BAD = "bold #ffffff on #c2261d"
GAP = 2


@dataclass(frozen=True)
class Paper:
    """What is drawn on: how wide, with colour or not, which theme, with all signs or few.

    `muted` is the style of what matters less: a terminal's own, for its ground is not known.
    """

    width: int
    colour: bool
    theme: Theme
    unicode: bool
    muted: str = "dim"

    @property
    def shades(self) -> str:
        """Signs that stand for shades, where there are no colours."""
        return SHADES if self.unicode and not self.colour else ""

    @classmethod
    def of(cls, console: Console, theme: Theme | None) -> Paper:
        """Look at a console."""
        colour = console.color_system is not None and not console.no_color
        unicode = console.encoding.lower().startswith("utf")
        return cls(console.width, colour, theme or guess(), unicode)


def guess() -> Theme:
    """Guess the terminal's ground: COLORFGBG says it where it is set; else most are dark."""
    ground = os.environ.get("COLORFGBG", "").split(";")[-1]
    return "light" if ground in ("7", "15") else "dark"


def show(pictures: list[Picture], console: Console, theme: Theme | None = None) -> None:
    """Print pictures, one beneath the other."""
    paper = Paper.of(console, theme)
    for line in drawn(pictures, paper):
        if not paper.colour:
            line.rstrip()
        console.print(line, soft_wrap=True, highlight=False)


def drawn(pictures: list[Picture], paper: Paper) -> list[Text]:
    """Draw pictures line by line, for the terminal and for every kind of file."""
    lines: list[Text] = []
    for place, picture in enumerate(pictures):
        lines += [*([Text()] if place else []), *_picture(picture, paper)]
    return lines


def _picture(picture: Picture, paper: Paper) -> list[Text]:
    lines: list[Text] = []
    if picture.says:
        lines = [Text(line) for line in _wrap(f"{picture.name}: {picture.says}", paper)]
        lines[0].stylize("bold", 0, len(picture.name) + 1)
    for row in picture.rows:
        lines += [Text(), *_row(row, paper)]
    if picture.notes:
        lines += [Text(), *(Text(line) for note in picture.notes for line in _wrap(note, paper))]
    if picture.trouble:
        lines += [*([Text()] if lines else []), *(Text(line) for line in picture.trouble)]
    return lines


def _wrap(text: str, paper: Paper) -> list[str]:
    after = "  " if text.startswith("- ") else ""
    width = min(paper.width, 100)
    return textwrap.wrap(text, width, subsequent_indent=after, break_on_hyphens=False) or [""]


def _row(row: Row, paper: Paper) -> list[Text]:
    lines = [Text(line, "italic") for line in _wrap(row.title, paper)] if row.title else []
    if row.curve:
        lines += _curve(row.curve, paper)
    for place, line in enumerate(_flow(_blocks(row, paper), paper.width)):
        lines += [*([Text()] if place else []), *line]
    notes = list(row.notes)
    for stack in row.stacks:
        notes += [f"{panel.title}: {note}" for panel in stack for note in panel.notes]
    for note in notes:
        lines += [Text(line) for line in _wrap(note, paper)]
    return lines


def _curve(shown: Curve, paper: Paper) -> list[Text]:
    ink = colours.look(f"blue-{colours.LEVELS * 3 // 4}", paper.theme).ground
    lines = [Text(shown.title, "bold")]
    for line in curve.lines(shown, paper.width, blocks=paper.unicode):
        label, bar, values = line.partition("|")
        lines.append(Text.assemble((label + bar, paper.muted), (values, ink)))
    return lines


@dataclass
class TextBlock:
    """Lines of one width, the sign that stands before them, and at which line it stands."""

    lines: list[Text]
    join: str
    middle: int

    @property
    def width(self) -> int:
        """The widest line."""
        return max(line.cell_len for line in self.lines)


def _blocks(row: Row, paper: Paper) -> list[TextBlock]:
    limit, blocks = row.limit(), []
    for stack in row.stacks:
        middle = 2 + (min(len(stack[0].cells), MOST_ROWS) - 1) // 2
        sign = len(stack[0].join) + 2 if stack[0].join else 0
        narrower = replace(paper, width=paper.width - sign)
        block = TextBlock(_stack(stack, limit, narrower), stack[0].join, middle)
        reference = stack[-1].reference()
        if reference is not None:
            beside = TextBlock(_stack([reference], limit, paper), "", middle)
            lines = _beside([TextBlock(block.lines, "", middle), beside])
            if max(line.cell_len for line in lines) + sign <= paper.width:
                block = TextBlock(lines, block.join, middle)
            else:
                blocks.append(block)
                block = beside
        blocks.append(block)
    return blocks


def _flow(blocks: list[TextBlock], width: int) -> list[list[Text]]:
    """Lay blocks side by side, and go on beneath where the width is used up."""
    lines: list[list[TextBlock]] = [[]]
    used = 0
    for block in blocks:
        needs = block.width + (len(block.join) + 2 if block.join else GAP)
        if lines[-1] and used + needs > width:
            lines.append([])
            used = 0
        lines[-1].append(block)
        used += needs
    return [_beside(line) for line in lines if line]


def _beside(blocks: list[TextBlock]) -> list[Text]:
    height = max(len(block.lines) for block in blocks)
    out = [Text() for _ in range(height)]
    for place, block in enumerate(blocks):
        sign = f" {block.join} " if block.join else " " * (GAP if place else 0)
        for n, line in enumerate(out):
            line.append(sign if n == block.middle else " " * len(sign), "bold")
            mine = block.lines[n] if n < len(block.lines) else Text()
            line.append_text(mine)
            if place < len(blocks) - 1:
                line.append(" " * (block.width - mine.cell_len))
    return out


def _stack(panels: list[Panel], limit: float, paper: Paper) -> list[Text]:
    """Draw panels on one another; those with as many columns have them as wide."""
    grids = [fitted(panel, paper.width) for panel in panels]
    edge = max(grid.edge for grid in grids)
    lines: list[Text] = []
    for grid in grids:
        alike = [other.widths for other in grids if len(other.columns) == len(grid.columns)]
        widths = [max(each) for each in zip(*alike, strict=True)]
        lines.append(_title(grid.panel))
        lines += [_line(line, grid.panel, limit, paper) for line in grid.lines(edge, widths)]
        left_out = grid.left_out()
        lines += [Text(left_out, paper.muted)] if left_out else []
    return lines


def _title(panel: Panel) -> Text:
    title = Text().append(panel.title, "bold")
    for more in (panel.made, "(the kit's)" if panel.source == "kit" else ""):
        title.append(f"  {more}" if more else "")
    return title


def _line(segments: list[Segment], panel: Panel, limit: float, paper: Paper) -> Text:
    line = Text()
    for text, kind, place in segments:
        if kind == "label":
            line.append(text, paper.muted)
            continue
        value, bad = panel.cells[place[0]][place[1]], panel.is_wrong(*place)
        if not paper.colour or value is None:
            shaded = kind == "mark" and not bad and panel.scale == "weights"
            line.append(_shade(value, paper) if shaded else text)
            continue
        ground, ink = colours.look(colours.role(value, panel.scale, limit), paper.theme)
        line.append(text, BAD if bad and kind == "mark" else f"{ink} on {ground}")
    return line


def _shade(value: Number, paper: Paper) -> str:
    if not paper.shades or value is None or not 0 <= value <= 1:
        return " "
    return paper.shades[round(value * (len(paper.shades) - 1))]
