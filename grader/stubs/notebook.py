"""Putting one stub into a student's notebook: its cell changes, every other one stays."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from typing import Any

from grader.stubs.splice import BrokenTextError, Spliced, splice
from grader.stubs.text import bindings
from grader.written.cells import Place, place
from grader.written.chosen import ANSWER
from grader.written.magics import without_magics
from grader.written.read import chapter_source, code_cells, text_of
from grader.written.started import is_stub


def put_back(data: bytes, file: str, name: str, stub: bytes, order: Sequence[str]) -> Spliced:
    """Put a stub in the place of a function or class, in the cell that counts.

    Args:
        data: the notebook.
        file: its name.
        name: the function or class.
        stub: its source.
        order: all names of the chapter, to find a place for one that is not there.

    Raises:
        Unreadable: it is no notebook.
    """
    source = chapter_source(data, file, order)
    book = json.loads(data.decode("utf-8-sig"))
    cells = {number: cell for number, cell in code_cells(book, file) if number}
    at = _place(source, name)
    if at is None:
        _insert(book, name, stub, cells, _before(source, name, order))
        done = Spliced(stub, b"")
    else:
        text = text_of(cells[at.cell]) or ""
        done = _in_cell(text, name, stub, order)
        if done.data.decode() == text:
            return Spliced(data, b"", _again(source, name))
        cells[at.cell]["source"] = done.data.decode().splitlines(keepends=True)
    written = json.dumps(book, indent=1, ensure_ascii=False) + "\n"  # as Jupyter writes it
    new = written.encode("utf-8", "backslashreplace")  # half of a sign stays an escape
    return Spliced(new, done.old, _again(chapter_source(new, file, order), name))


def _place(source: bytes, name: str) -> Place | None:
    found = bindings(ast.parse(source), name)
    return place(source, found[-1].lineno) if found else None


def _again(source: bytes, name: str) -> str:
    """Say where the name gets another meaning."""
    last = bindings(ast.parse(source), name)[-1]
    return "" if is_stub(last) else f"cell {place(source, last.lineno).cell}"


def _in_cell(text: str, name: str, stub: bytes, order: Sequence[str]) -> Spliced:
    """Put a stub into a cell's text; into one that cannot be taken apart, as all there is."""
    old = text.encode("utf-8", "replace")
    python = without_magics(text).encode("utf-8", "replace")
    try:
        made = splice(old, name, stub, order, python if python != old else None)
    except BrokenTextError:
        made = Spliced(stub, old)
    return made if text.endswith("\n") else Spliced(made.data.removesuffix(b"\n"), made.old)


def _before(source: bytes, name: str, order: Sequence[str]) -> int:
    """Return the cell below which a function belongs; 0 for the end."""
    found = (_place(source, other) for other in reversed(order[: order.index(name)]))
    return next((at.cell for at in found if at is not None), 0)


def _insert(
    book: dict[str, Any], name: str, stub: bytes, cells: dict[int, dict[str, Any]], below: int
) -> None:
    text = stub.decode().rstrip("\n").splitlines(keepends=True)
    made = {"cell_type": "code", "execution_count": None, "metadata": {"tags": [ANSWER + name]},
            "outputs": [], "source": text}  # fmt: skip
    listed = book["cells"]
    if any(isinstance(cell, dict) and "id" in cell for cell in listed):
        taken = [cell.get("id") for cell in listed if isinstance(cell, dict)]
        ids = (f"stub-{name.replace('_', '-')}-{number}" for number in range(len(taken) + 1))
        made["id"] = next(one for one in ids if one not in taken)
    # the very cell: another one may be equal
    places = [at for at, cell in enumerate(listed) if cell is cells.get(below)]
    listed.insert(places[0] + 1 if places else len(listed), made)
