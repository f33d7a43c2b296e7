"""A cell taken apart into its statements: what each one binds, and which names it needs."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

from grader.written.cells import first_line
from grader.written.magics import without_magics
from grader.written.started import parsed

MOST = 5000
# what only does something, and defines nothing that a function could use
DOES = (ast.Expr, ast.Assert, ast.Delete, ast.Raise, ast.Pass, ast.Global)


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement at the top level of a cell.

    Attributes:
        cell: the number of its cell.
        line: where in its cell it begins.
        node: what it is.
        text: its lines.
        binds: the names that it defines.
        changes: the names whose attributes or items it sets, as in `Model.forward = ...`.
        needs: the names that it, or what it defines, takes from elsewhere.
    """

    cell: int
    line: int
    node: ast.stmt
    text: str
    binds: frozenset[str]
    changes: frozenset[str]
    needs: frozenset[str]

    @property
    def concerns(self) -> frozenset[str]:
        """The names that are not what they were after it."""
        return self.binds | self.changes

    @property
    def imports_all(self) -> bool:
        """Whether it is `from somewhere import *`, which may define anything."""
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"


def statements(number: int, source: str) -> list[Statement]:
    """List the statements of a cell that define something.

    Raises:
        SyntaxError: the cell is not Python, magics apart.
        ValueError: it has more statements than anybody writes.
    """
    try:
        tree = parsed(source)
    except SyntaxError:
        source = without_magics(source)
        tree = parsed(source)
    if len(tree.body) > MOST:
        raise ValueError(f"cell {number} has more than {MOST} statements")
    lines = source.encode("utf-8", "replace").split(b"\n")
    return [
        _statement(number, node, _text(lines, node))
        for node in tree.body
        if not isinstance(node, DOES)
    ]


def _text(lines: list[bytes], node: ast.stmt) -> str:
    """Return a statement's own text, also where it shares its line with another."""
    first = first_line(node)
    last = node.end_lineno or node.lineno
    taken = lines[first - 1 : last]
    taken[-1] = taken[-1][: node.end_col_offset]
    if first == node.lineno:
        taken[0] = taken[0][node.col_offset :]
    return b"\n".join(taken).decode("utf-8", "replace")


def _statement(number: int, node: ast.stmt, text: str) -> Statement:
    try:
        table = symtable.symtable(text, "cell", "exec")
        needs = frozenset(_needs(table))
    except (RecursionError, MemoryError, ValueError):
        raise SyntaxError("it is nested too deep") from None
    here = table.get_symbols()
    binds = frozenset(one.get_name() for one in here if one.is_assigned() or one.is_imported())
    changes = frozenset(_changed(node))
    return Statement(number, first_line(node), node, text, binds, changes, needs)


def _needs(table: symtable.SymbolTable) -> Iterator[str]:
    """Go through the names that are looked up outside of all functions."""
    waiting = [table]
    while waiting:
        one = waiting.pop()
        outermost = one is table
        for symbol in one.get_symbols():
            if symbol.is_referenced() and (outermost or symbol.is_global()):
                yield symbol.get_name()
        waiting += one.get_children()


def _changed(node: ast.stmt) -> Iterator[str]:
    """Name what an assignment to an attribute or an item changes."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        inner = target
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield inner.id
