"""A comparison on the terminal: texts side by side where they fit, else one beneath the other."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from grader import places
from grader.comparing.compare import Compared
from grader.pictures.model import unpack
from grader.pictures.terminal import guess, show
from grader.written.cells import Place

GAP = 3
NARROWEST = 40
WIDEST_TEXT = 100
LEFT_OUT = "Docstrings are left out, and in the other ways most of what only refuses wrong sizes."

Block = tuple[str, str]


def draw(found: Compared, console: Console) -> None:
    """Print what was compared, and why the rest was not."""
    for place, seen in enumerate(found.seen):
        if place:
            console.print("\n")
        _one(seen, console)
    said = [*found.closed, *([found.trouble] if found.trouble else [])]
    if found.seen and said:
        console.print()
    for line in said:
        _say(line, console)


def _one(seen: dict[str, Any], console: Console) -> None:
    console.print(Text(seen["full"], "bold reverse"))
    if "closed" in seen:
        _say(seen["closed"], console)
        return
    where = Place(*seen["at"]).begins(places.short(Path(seen["path"])))
    blocks: list[Block] = [(f"yours   {where}", seen["yours"])]
    blocks.append(("the reference answer", seen["reference"]))
    blocks += [(f"another way, {style}", text) for style, text in seen["others"]]
    for pair in (blocks[:2], blocks[2:]):
        console.print()
        _beside(pair, console)
    console.print()
    _say(LEFT_OUT, console)
    if "call" in seen:
        _in_pytorch(seen, console)


def _in_pytorch(seen: dict[str, Any], console: Console) -> None:
    # the head is the kit's, and the last line hands the results over
    lines = seen["call"].splitlines()[1:-1]
    console.print()
    _beside([("what PyTorch has for it", textwrap.dedent("\n".join(lines)))], console)
    show([unpack(seen["picture"])], console)
    console.print()
    _say(seen["differs"], console)


def _say(text: str, console: Console) -> None:
    width = min(console.width, WIDEST_TEXT)
    for line in textwrap.wrap(text, width, break_on_hyphens=False):
        console.print(line, markup=False, soft_wrap=True)


def _beside(blocks: Sequence[Block], console: Console) -> None:
    """Lay texts side by side if all of their lines fit, else one beneath the other."""
    widths = [max(map(len, [title, *text.splitlines()])) for title, text in blocks]
    if len(blocks) > 1 and sum(widths) + GAP <= console.width:
        half = (console.width - GAP) // 2
        left = half if max(widths) <= half else widths[0]
        texts = [_block(block, console.width).split("\n", allow_blank=True) for block in blocks]
        for here, there in zip_longest(*texts, fillvalue=Text()):
            line = here.copy()
            line.pad_right(left + GAP - line.cell_len if there else 0)
            console.print(line.append_text(there), soft_wrap=True)
        return
    for place, block in enumerate(blocks):
        if place:
            console.print()
        console.print(_block(block, console.width), soft_wrap=True)


def folded(text: str, width: int) -> str:
    """Fold the lines of code that are too long, between words."""
    made: list[str] = []
    for line in text.splitlines():
        after = line[: len(line) - len(line.lstrip())] + 4 * " "
        made += textwrap.wrap(
            line, width, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(made)


def _block(block: Block, width: int) -> Text:
    title, text = block
    code = folded(text, max(width, NARROWEST))
    syntax = Syntax(code, "python", theme=f"ansi_{guess()}", background_color="default")
    coloured = syntax.highlight(code)
    coloured.rstrip()
    return Text.assemble((title, "bold"), "\n", coloured)
