"""Reading a notebook that was handed in, whatever it holds: no cell of it is run here."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

from grader.notebooks.chosen import Cell, chosen_source
from grader.notebooks.started import started

MEGABYTE = 2**20
LARGEST = 8 * MEGABYTE
MOST_CELLS = 2000
# no answer is as long; and Python 3.10 crashes on an expression that is nested far deeper
LONGEST_CELL = 100_000
LONGEST = 1_000_000


def chapter_source(data: bytes, name: str, exercises: Collection[str] | None = None) -> bytes:
    """Return the Python file that a notebook amounts to.

    Of a function that several cells define, the cell with its tag counts, even if another comes
    later; an untouched stub counts only if there is nothing else. Beside the functions there are
    the imports, helpers and constants that they use, from whatever cell. No other statement of
    the notebook is in the file, no magic and no shell command. Where a function's cell is not
    Python yet, there is a function that says so.

    Args:
        data: the notebook as it was handed in.
        name: its file name, which says which chapter it is.
        exercises: the names of the chapter's functions; None: as the kit has them.

    Raises:
        ValueError: it is no notebook, or too large; the sentence names it and says why.
    """
    if exercises is None:
        exercises = _exercises(name)
    cells = list(_cells(_notebook(data, name), name))
    try:
        text = chosen_source(cells, exercises)
    except ValueError as problem:
        raise ValueError(f"{name} is not read: {problem}") from None
    return f"# what counts of {ascii(name)[1:-1]}\n{text}".encode("utf-8", "replace")


def the_one_that_counts(
    script: bytes, notebook: bytes, name: str, exercises: Collection[str] | None = None
) -> bytes:
    """Choose between `ex*.py` and `ex*.ipynb` of one chapter: where more functions are started.

    Args:
        script: the file that ends in `.py`; it counts if both are equally far.
        notebook: the other one.
        name: the notebook's name.
        exercises: as for `chapter_source`.

    Raises:
        ValueError: the notebook is none, or too large, and nothing is started in the script.
    """
    if exercises is None:
        exercises = _exercises(name)
    done = started(script, exercises)
    try:
        source = chapter_source(notebook, name, exercises)
    except ValueError:
        if done:
            return script
        raise
    return source if started(source, exercises) > done else script


def _exercises(name: str) -> list[str]:
    """Return the functions of a chapter; of all chapters, if the name is not a chapter's."""
    from grader.chapters import catalogue

    known = catalogue().names()
    stem = name.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return list(known.get(stem) or [one for names in known.values() for one in names])


def _notebook(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > LARGEST:
        most = LARGEST // MEGABYTE
        raise ValueError(f"{name} is larger than {most} MiB: clear its outputs, then save it again")
    try:
        found = json.loads(data.decode("utf-8-sig"), parse_int=_small)
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is not a notebook: it cannot be read as JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        raise ValueError(f"{name} is not a notebook, or one of before 2015: it has no cells")
    if len(found["cells"]) > MOST_CELLS:
        raise ValueError(f"{name} has more than {MOST_CELLS} cells")
    return found


def _small(digits: str) -> int:
    """Read a number; no number in here matters, and a long one takes long."""
    return int(digits) if len(digits) < 20 else 0


def _cells(notebook: dict[str, Any], name: str) -> Iterator[Cell]:
    total = 0
    for number, cell in enumerate(notebook["cells"], 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", "")
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise ValueError(f"{name} is not a notebook: cell {number} holds no text")
        total += len(source)
        if len(source) > LONGEST_CELL or total > LONGEST:
            raise ValueError(f"{name} is not read: cell {number} makes its code too long")
        yield Cell(number, source.replace("\r\n", "\n").replace("\r", "\n"), _tags(cell))


def _tags(cell: dict[str, Any]) -> frozenset[str]:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    if not isinstance(tags, list):
        return frozenset()
    return frozenset(tag for tag in tags if isinstance(tag, str))
