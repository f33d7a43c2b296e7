"""A picture as PNG, by matplotlib, which is imported only here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.pictures import colours
from grader.pictures.colours import Theme
from grader.pictures.scene import TEXT, GridCell, Scene, Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 200
# matplotlib counts letters in points, 72 to the inch; a scene in pixels, 100 to the inch
POINTS = 0.72


def png(scene: Scene, file: Path, theme: Theme | None = None) -> None:
    """Write a scene as PNG.

    Args:
        scene: what to draw.
        file: where to.
        theme: light (also for None) or dark.
    """
    # the plain canvas: pyplot would look for a screen, and takes half a second more
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    theme = theme or "light"
    figure = Figure(figsize=(scene.width / 100, scene.height / 100), dpi=DPI)
    figure.patch.set_facecolor(colours.PAGE[theme]["page"])
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.axis("off")
    for cell in scene.cells:
        if cell.role:
            _cell(axes, cell, theme)
    for stroke in scene.strokes:
        axes.plot(*zip(*stroke.points, strict=True), color=colours.PAGE[theme][stroke.ink], lw=1.1)
    for words in scene.words:
        _words(axes, words, theme)
    FigureCanvasAgg(figure).print_png(str(file))


def _cell(axes: Axes, cell: GridCell, theme: Theme) -> None:
    from matplotlib.patches import FancyBboxPatch

    ground, ink = colours.look(cell.role, theme)
    edge = colours.PAGE[theme]["bad"] if cell.wrong else "none"
    axes.add_patch(
        FancyBboxPatch(
            (cell.x + 1, cell.y + 1), cell.width - 2, cell.height - 2,
            boxstyle="round,pad=0,rounding_size=3", facecolor=ground, edgecolor=edge, linewidth=1.6,
        )
    )  # fmt: skip
    text = cell.text + ("*" if cell.wrong else "")
    axes.text(
        cell.x + cell.width / 2, cell.y + cell.height / 2, text, color=ink, ha="center",
        va="center_baseline", family="DejaVu Sans Mono", size=TEXT * POINTS, parse_math=False,
    )  # fmt: skip


def _words(axes: Axes, words: Words, theme: Theme) -> None:
    sides = {"start": "left", "middle": "center", "end": "right"}
    axes.text(
        words.x, words.y, words.text, color=colours.PAGE[theme][words.ink],
        ha=sides[words.anchor], va="baseline", size=words.size * POINTS, parse_math=False,
        family="DejaVu Sans Mono" if words.mono else "DejaVu Sans",
        weight="bold" if words.bold else "normal",
    )  # fmt: skip
