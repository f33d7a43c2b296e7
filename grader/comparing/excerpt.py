"""Cutting one function out of a chapter's text, with what it needs of the same file."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from grader.written.cells import first_line

CHAPTER = re.compile(r"\bex\d\d_")
Named = ast.FunctionDef | ast.ClassDef | ast.Assign


@dataclass(frozen=True)
class Excerpt:
    """A function's text.

    Attributes:
        text: without docstrings; first what the function needs of its file, then itself.
        line: where the function begins in the file.
        strange: names that it takes from other chapters and that are no exercises.
    """

    text: str
    line: int
    strange: frozenset[str]


def excerpt(
    source: str, name: str, exercises: Collection[str], *, refusals: bool = True
) -> Excerpt | None:
    """Cut a function or class out of a chapter; None if it is not there.

    Args:
        source: the chapter.
        name: the function.
        exercises: the names of all exercises: they are used, and stay where they are.
        refusals: whether to keep statements that do nothing but refuse.
    """
    tree = ast.parse(source)
    found = {one: node for node in tree.body for one in defines(node)}
    main = found.get(name)
    if main is None:
        return None
    wanted, waiting = {name}, [name]
    while waiting:
        used = _used(found[waiting.pop()], refusals=refusals)
        new = {one for one in used & found.keys() if one not in exercises} - wanted
        wanted |= new
        waiting += new
    nodes = list(dict.fromkeys(node for one, node in found.items() if one in wanted))
    nodes.sort(key=lambda node: (node is main, node.lineno))
    lines = source.splitlines()
    pieces = [_cut(lines, node, refusals=refusals) for node in nodes]
    apart = "\n\n\n".join(pieces)
    everything = set[str]().union(*(_used(node, refusals=refusals) for node in nodes))
    return Excerpt(apart, first_line(main), frozenset(_strange(tree, everything, exercises)))


def defines(node: ast.stmt) -> Iterator[str]:
    """Name what a statement of a file of ours gives to the file, but for imports."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _used(node: ast.AST, *, refusals: bool) -> set[str]:
    gone = set() if refusals else {inner for one in _refusals(node) for inner in ast.walk(one)}
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name) and one not in gone)
    return {one.id for one in names}


def _strange(tree: ast.Module, used: set[str], exercises: Collection[str]) -> Iterator[str]:
    """Name what comes from another chapter's file and is not an exercise of it."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and CHAPTER.search(node.module or ""):
            names = ((one.asname or one.name, one.name) for one in node.names)
            yield from (here for here, there in names if here in used and there not in exercises)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names if CHAPTER.match(one.name))


def _cut(lines: list[str], node: ast.stmt, *, refusals: bool) -> str:
    """Return a statement's lines, without docstrings and, if so wished, without refusals."""
    gone = list(_docstrings(node))
    gone += [] if refusals else _refusals(node)
    dropped = {number for one in gone for number in range(one.lineno, (one.end_lineno or 0) + 1)}
    inner = dropped & {number + 1 for number in dropped}
    kept: list[str] = []
    for number in range(first_line(node), (node.end_lineno or node.lineno) + 1):
        if number in dropped:
            # so does a comment on it
            while kept and kept[-1].lstrip().startswith("#") and number not in inner:
                kept.pop()
            continue
        line = lines[number - 1].rstrip()
        if line or (kept and kept[-1] and not kept[-1].endswith(":")):
            kept.append(line)
    return textwrap.dedent("\n".join(kept))


def _docstrings(node: ast.AST) -> Iterator[ast.stmt]:
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.ClassDef) and len(one.body) > 1:
            first = one.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first


def _refusals(node: ast.AST) -> list[ast.stmt]:
    """List statements that only refuse, and those that only make something for these."""
    gone = _refusing(node)
    functions = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)]
    while True:
        inside = {inner for one in gone for inner in ast.walk(one)}
        used = {one.id for one in set(ast.walk(node)) - inside if _is_loaded(one)}
        wanted = {one.id for one in inside if _is_loaded(one)} - used
        more = [
            one
            for function in functions
            for one in function.body
            if one not in inside and _makes_only(one, wanted, used)
        ]
        if not more:
            emptied = [f for f in functions if {*f.body} <= {*gone, *_docstrings(f)}]
            return [one for one in gone if not any(one in f.body for f in emptied)]
        gone += more


def _is_loaded(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _makes_only(node: ast.stmt, wanted: set[str], used: set[str]) -> bool:
    """Tell whether a statement only gives values to names, some wanted, and none used elsewhere."""
    if isinstance(node, ast.Try):
        inner = [*node.body, *(one for handler in node.handlers for one in handler.body)]
        rest = [*node.orelse, *node.finalbody]
        return not rest and all(_makes_only(one, wanted, used) for one in inner)
    if not isinstance(node, ast.Assign):
        return False
    parts = [one for target in node.targets for one in ast.walk(target)]
    names = {one.id for one in parts if isinstance(one, ast.Name)}
    plain = not any(isinstance(one, ast.Attribute | ast.Subscript) for one in parts)
    return plain and bool(names & wanted) and not names & used


def _refusing(node: ast.AST) -> list[ast.stmt]:
    """List statements that only refuse, on lines of their own, in bodies that keep others."""
    found: list[ast.stmt] = []
    for one in ast.walk(node):
        body: list[ast.stmt] = getattr(one, "body", [])
        if not isinstance(body, list):
            continue
        refusing = [inner for inner in body if _refuses(inner)]
        if len(refusing) < len(body):
            found += refusing
    return found


def _refuses(node: ast.stmt) -> bool:
    """Tell whether a statement only refuses: a raise, a call whose result nobody takes."""
    if isinstance(node, ast.If):
        ends = isinstance(node.body[-1], ast.Raise) or all(map(_refuses, node.body))
        return ends and not node.orelse
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return isinstance(node.value.func, ast.Name)
    return isinstance(node, ast.Raise)
