"""Where the lines of a notebook's source stand in its cells: for errors, and for whoever looks.

Cells are counted as Jupyter counts those that it runs: the code cells from the top, without empty
ones. So `cell 5` is what stands as `[5]` after "Restart kernel and run all cells".
"""

from __future__ import annotations
import __future__

import ast
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from grader.written.source import NOTEBOOK, is_of_notebook

MARK = re.compile(r"# cell (\d{1,6}), line (\d{1,6})")

# what an error calls a cell
CELL = re.compile(r"\.ipynb, cell \d+$")


class Place(NamedTuple):
    """A line where a student finds it: `cell` is 0 in a file."""

    cell: int
    line: int

    def of(self, name: str) -> str:
        """Say it with the name of the file."""
        return f"{in_cell(name, self.cell) if self.cell else name}, line {self.line}"

    def begins(self, path: str) -> str:
        """Say where a function begins: an editor makes a link of a file with its line."""
        return in_cell(path, self.cell) if self.cell else f"{path}:{self.line}"


def mark(cell: int, line: int) -> str:
    """Return the comment that says where the statement below it stands."""
    return f"# cell {cell}, line {line}"


def in_cell(name: str, cell: int) -> str:
    """Return what a cell is called where a file has its name."""
    return f"{name}, cell {cell}"


def place(text: bytes, line: int) -> Place:
    """Return where a line of a source stands in the file or in the notebook."""
    if is_of_notebook(text):
        lines = text.decode("utf-8", "replace").split("\n")
        for at in range(min(line, len(lines)), 0, -1):
            found = MARK.fullmatch(lines[at - 1])
            if found:
                return Place(int(found[1]), int(found[2]) + max(0, line - at - 1))
    return Place(0, line)


def first_line(node: ast.stmt) -> int:
    """Return the line on which a statement begins, with its decorators."""
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def compiled(text: bytes, file: Path) -> list[CodeType]:
    """Compile a source, so that errors name the cell and its line if it is a notebook's.

    Args:
        text: the source.
        file: where it was read from.

    Returns:
        What to run, one after the other, in the same namespace.
    """
    if not is_of_notebook(text):
        return [compile(text, str(file), "exec", dont_inherit=True)]
    made, shown, flags = [], dict[str, list[str]](), 0
    name = str(file.with_suffix(NOTEBOOK))
    for at, lines, node in _marked(text, name):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            flags = __future__.annotations.compiler_flag
        cell = in_cell(name, at.cell) if at.cell else name
        _show(shown.setdefault(cell, []), at.line, lines)
        code = ast.Module([node], [])
        made.append(compile(code, cell, "exec", flags, dont_inherit=True))
    for cell, lines in shown.items():
        # whoever shows a line of a traceback asks there; it has no file that could have changed
        linecache.cache[cell] = sum(map(len, lines)), None, lines, cell
    return made


def _marked(text: bytes, name: str) -> Iterator[tuple[Place, list[str], ast.stmt]]:
    """Go through the statements: where each stands, its lines, and itself as it stands there."""
    tree = ast.parse(text, name)
    lines = text.decode("utf-8", "replace").split("\n")
    for node in tree.body:
        first, last = first_line(node), node.end_lineno or node.lineno
        found = MARK.fullmatch(lines[first - 2]) if first > 1 else None
        at = Place(int(found[1]), int(found[2])) if found else Place(0, first)
        ast.increment_lineno(node, at.line - first)
        yield at, lines[first - 1 : last], node


def _show(shown: list[str], first: int, lines: list[str]) -> None:
    """Put lines where they stand in their cell; of two statements on one line both are shown."""
    shown += ["\n"] * (first + len(lines) - 1 - len(shown))
    for at, line in enumerate(lines, first - 1):
        before = shown[at].rstrip("\n")
        shown[at] = f"{before}; {line}\n" if before else f"{line}\n"
