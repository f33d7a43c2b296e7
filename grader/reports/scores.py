"""The table of scores on a terminal, which stay whole however long the names are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.reports.text import for_log, one_line
from grader.results import DEVICES, State, SubmissionResult, number

STATES: tuple[State, ...] = ("solved", "to polish", "wrong", "not started")
NAME_AT_LEAST = 10
# where no terminal limits the line, as in a log: a longer name would carry the scores away
NAME_AT_MOST = 80
DOTS = "..."


def show_scores(graded: Sequence[SubmissionResult], console: Console) -> None:
    """Print a row for each submission: what gives way is the names, then what tells the least.

    Names that would be cut alike are written whole, on as many lines as they need.
    """
    further = any(submission.of("beyond") for submission in graded)
    every = dict.fromkeys((*DEVICES, *(name for one in graded for name in one.devices)))
    scored = tuple(every) if not further or any(one.of("core") for one in graded) else ()
    columns = [*scored, *(["beyond"] if further else []), *STATES, "device-ready"]
    rows = [_cells(submission, scored, further) for submission in graded]
    titled = zip(columns, *rows, strict=True)
    widths = {column: max(map(len, (column, *cells))) for column, *cells in titled}
    names = [_written(clean(submission.identity), console.encoding) for submission in graded]
    longest = min(NAME_AT_MOST, max(NAME_AT_LEAST, *map(cell_len, names)))
    console.width = width = _width(console, widths, longest)
    idle = [d for d in scored if all(one.score(d) is None for one in graded)]
    shown = _with_room(width, widths, idle, longest)
    shown = _with_room(width, shown, (*reversed(STATES), "beyond", "device-ready"), NAME_AT_LEAST)
    room = max(NAME_AT_LEAST, _room(width, shown))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("submission", max_width=room, no_wrap=True)
    for column, at_least in shown.items():
        table.add_column(column, justify="right", min_width=at_least, no_wrap=True)
    for name, cells in zip(_told_apart(names, room), rows, strict=True):
        told = (cell for column, cell in zip(columns, cells, strict=True) if column in shown)
        table.add_row(name, *told)
    console.print(table)
    left_out = [column for column in columns if column not in shown]
    if left_out:
        console.print(f"not shown, for want of room: {', '.join(left_out)}")


def _width(console: Console, widths: dict[str, int], longest: int) -> int:
    """Take the terminal's width; a pipe and a file are as wide as the names need."""
    if console.is_terminal or "COLUMNS" in os.environ:
        return console.width
    return max(console.width, longest - _room(0, widths))


def _with_room(
    width: int, widths: dict[str, int], way: Sequence[str], wanted: int
) -> dict[str, int]:
    """Leave out columns until names have what they want: those give `way` in this order."""
    shown = dict(widths)
    for column in way:
        if len(shown) > 1 and _room(width, shown) < wanted:
            shown.pop(column, None)
    return shown


def _told_apart(names: Sequence[str], room: int) -> list[Text]:
    """Cut names to their room, but for those that nobody could tell apart then."""
    cut = [without_middle(name, room) for name in names]
    times = Counter(cut)
    return [
        # where a line is folded, a command of a CI system's could begin the next one
        Text(short)
        if times[short] == 1
        else Text(name.replace("::", ": :"), no_wrap=False, overflow="fold")
        for name, short in zip(names, cut, strict=True)
    ]


def without_middle(text: str, most: int) -> str:
    """Fit a line into so many cells of a terminal; where it is too long it loses its middle."""
    if cell_len(text) <= most:
        return text
    back = (most - len(DOTS)) // 2
    front = set_cell_size(text, most - len(DOTS) - back).rstrip()
    tail = text
    while tail and (
        cell_len(tail) > back or not cell_len(tail[0])
    ):  # an accent stays with its letter
        tail = tail[1:]
    return f"{front}{DOTS}{tail}"


def clean(text: str) -> str:
    """Keep control characters from the terminal, and commands from a CI system's log."""
    return for_log(one_line(text))


def points(score: Fraction | None) -> str:
    """Write a score; what was not run is not 0."""
    return "not run" if score is None else f"{number(score):.2f}"


def _room(width: int, widths: dict[str, int]) -> int:
    return width - sum(widths.values()) - len(widths) * 2


def _written(text: str, encoding: str) -> str:
    """Spell out already here what the terminal's encoding lacks: it takes more room."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _cells(submission: SubmissionResult, scored: Sequence[str], further: bool) -> list[str]:
    first = submission.devices[0]
    ready, ran = submission.device_ready
    beyond = points(submission.beyond(first)) if submission.of("beyond") else ""
    return [
        *(points(submission.score(device)) for device in scored),
        *([beyond] if further else []),
        *(str(submission.count(state, first)) for state in STATES),
        f"{ready} of {ran}",
    ]
