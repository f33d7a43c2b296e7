"""Reading a notebook that was handed in, whatever it holds: no cell of it is run here."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from grader.written.chosen import Cell, chosen_source
from grader.written.source import LARGEST, Unreadable

MOST_CELLS = 2000
# no answer is as long; and Python 3.10 crashes on an expression that is nested far deeper
LONGEST_CELL = 100_000
LONGEST = 1_000_000


def chapter_source(data: bytes, name: str, exercises: Collection[str]) -> bytes:
    """Return the Python file that a notebook amounts to.

    Of a function that several cells define, the cell with its tag counts, even if another comes
    later; an untouched stub counts only if there is nothing else. Beside the functions there are
    the imports, helpers and constants that they use, from whatever cell. No other statement of
    the notebook is in the file, no magic and no shell command. Where a function's cell is not
    Python yet, there is a function that says so.

    Args:
        data: the notebook as it was handed in.
        name: its file name, which says which chapter it is.
        exercises: the names of the chapter's functions.

    Raises:
        Unreadable: it is no notebook, or too large; the sentence names it and says why.
    """
    cells = list(_cells(_notebook(data, name), name))
    try:
        text = chosen_source(cells, name, exercises)
    except ValueError as problem:
        raise Unreadable(f"{name} is not read: {problem}") from None
    return text.encode("utf-8", "replace")


def _notebook(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > LARGEST:
        most = f"{LARGEST // 2**20} MiB"
        raise Unreadable(f"{name} is larger than {most}: clear its outputs, then save it again")
    try:
        found = json.loads(data.decode("utf-8-sig"), parse_int=_small)
    except (ValueError, RecursionError):
        raise Unreadable(f"{name} is not a notebook: {_no_json(data)}") from None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        old = "it has no cells; one of before 2015 has to be opened in Jupyter and saved again"
        raise Unreadable(f"{name} is not a notebook: {old}")
    if len(found["cells"]) > MOST_CELLS:
        raise Unreadable(f"{name} has more than {MOST_CELLS} cells")
    return found


def _no_json(data: bytes) -> str:
    if not data.strip():
        return "it is empty"
    if b"\n<<<<<<< " in data:
        return "git has left a conflict in it, between <<<<<<< and >>>>>>>"
    return "it cannot be read as JSON"


def _small(digits: str) -> int:
    """Read a number; no number in here matters, and a long one takes long."""
    return int(digits) if len(digits) < 20 else 0


def _cells(notebook: dict[str, Any], name: str) -> Iterator[Cell]:
    total = 0
    for number, cell in code_cells(notebook, name):
        source = text_of(cell) or ""
        total += len(source)
        if len(source) > LONGEST_CELL or total > LONGEST:
            raise Unreadable(f"{name} is not read: cell {number} makes its code too long")
        yield Cell(number, source.replace("\r\n", "\n").replace("\r", "\n"), _tags(cell))


def code_cells(notebook: dict[str, Any], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Go through the code cells by their numbers, as `cells` counts them; an empty one has 0."""
    number = 0
    for cell in notebook["cells"]:
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = text_of(cell)
        if source is None:
            raise Unreadable(f"{name} is not a notebook: cell {number + 1} holds no text")
        number += bool(source.strip())
        yield (number if source.strip() else 0), cell


def text_of(cell: dict[str, Any]) -> str | None:
    """Return a cell's text; None if it has none."""
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return source if isinstance(source, str) else None


def _tags(cell: dict[str, Any]) -> frozenset[str]:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    if not isinstance(tags, list):
        return frozenset()
    return frozenset(tag for tag in tags if isinstance(tag, str))
