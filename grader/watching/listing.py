"""The list of all functions."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from grader.reports.board import STYLES, standing
from grader.trial.plan import DEVICE
from grader.watching.view import View

WIDTH = 39
# without minutes, and without a word for what is not started: two columns fit on a narrow screen
NARROW, NARROWER = 80, 29


def listing(view: View, width: int) -> RenderableType:
    """Draw a block for each chapter that counts: in as many columns as there is room."""
    stems = list(dict.fromkeys(task.stem for task in view.plan.begun(view.folder)))
    one = WIDTH if width >= NARROW else NARROWER
    count = max(1, min(len(stems), (width + 2) // (one + 2)))
    longest = -(-sum(len(view.plan.chapter(stem)) + 1 for stem in stems) // count)
    columns: list[list[RenderableType]] = [[]]
    filled = 0
    for stem in stems:
        rows = len(view.plan.chapter(stem)) + 1
        if columns[-1] and filled + rows > longest + 1 and len(columns) < count:
            columns.append([])
            filled = 0
        columns[-1].append(_block(view, stem, one))
        filled += rows
    grid = Table.grid(padding=(0, 2))
    grid.add_row(*(Group(*column) for column in columns))
    return grid


def _block(view: View, stem: str, width: int) -> RenderableType:
    results = {result.exercise: result for result in view.results}
    block = Table(box=None, padding=(0, 1, 0, 0), title=stem, title_justify="left",
                  title_style="bold", show_header=False, width=width)  # fmt: skip
    block.add_column(width=19, no_wrap=True)
    narrow = width < WIDTH
    block.add_column(width=9 if narrow else 11, no_wrap=True)
    if not narrow:
        block.add_column(width=6, no_wrap=True, justify="right", style="dim")
    for task in view.plan.chapter(stem):
        state = standing(results[task.full], DEVICE)
        said = Text("" if narrow and state == "not started" else state, STYLES[state])
        block.add_row(task.name, said, *([] if narrow else [f"{task.minutes} min"]))
    return block
