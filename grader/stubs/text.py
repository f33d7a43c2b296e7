"""A file of answers as bytes and lines, and where its functions lie in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.written.cells import first_line

LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
DEFINITION = re.compile(rb"(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
INDENTED_COMMENT = re.compile(rb"[ \t]+#")


@dataclass(frozen=True)
class Span:
    """Lines from `start` up to but not including `end`, counted from 0."""

    start: int
    end: int


def lines_of(data: bytes) -> list[bytes]:
    """Split into lines as Python does, ends included: put together they are the data again."""
    return LINE.findall(data)


def newline_of(data: bytes) -> bytes:
    """Return how the file ends most of its lines."""
    windows = data.count(b"\r\n")
    return b"\r\n" if windows * 2 > data.count(b"\n") else b"\n"


def bindings(tree: ast.Module, name: str) -> list[ast.stmt]:
    """List the statements at the top of a file that give `name` a meaning, in order."""
    return [node for node in tree.body if name in _bound(node)]


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    else:
        # also inside `if` and `try`, but not what a nested function calls its own
        yield from (
            inner.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        )
        yield from (
            inner.name
            for inner in ast.walk(node)
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        )


def span_of(node: ast.stmt, lines: list[bytes]) -> Span:
    """Return a statement's lines, with its decorators, and comments that are indented below it."""
    end = node.end_lineno or node.lineno
    below = end
    while below < len(lines) and (not lines[below].strip() or INDENTED_COMMENT.match(lines[below])):
        below += 1
        if INDENTED_COMMENT.match(lines[below - 1]):
            end = below
    return Span(first_line(node) - 1, end)


def defined_at(lines: list[bytes]) -> list[tuple[str, int]]:
    """List what is defined at the left edge, by its text: also in a file that does not parse."""
    found = []
    for at, line in enumerate(lines):
        matched = DEFINITION.match(line)
        if matched:
            found.append((matched.group(1).decode(), at))
    return found
