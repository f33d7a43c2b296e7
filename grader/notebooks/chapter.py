"""A chapter's file taken apart: its text, its imports, and its functions one by one."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from grader.written.cells import first_line

NAMED = (ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Part:
    """A function or class of a chapter, with what stands before it.

    Attributes:
        name: as it is called.
        summary: the first paragraph of its docstring.
        effort: the paragraph on difficulty and minutes; empty if there is none.
        source: its lines, as they stand.
    """

    name: str
    summary: str
    effort: str
    source: str


@dataclass(frozen=True)
class ChapterText:
    """A chapter's file.

    Attributes:
        stem: its name without `.py`.
        text: the docstring at its top.
        header: the imports and whatever else comes before the first function.
        parts: its public functions and classes, in order.
    """

    stem: str
    text: str
    header: str
    parts: tuple[Part, ...]


def read_chapter(path: Path) -> ChapterText:
    """Take a chapter's file apart.

    Raises:
        SyntaxError: it is not Python.
        OSError: it cannot be read.
    """
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, path.name)
    lines = source.splitlines()
    body = tree.body[1:] if ast.get_docstring(tree) is not None else tree.body
    pieces = _pieces(body)
    header = _lines(lines, pieces[0][1]) if pieces and pieces[0][0] is None else ""
    parts = [_part(node, _lines(lines, nodes)) for node, nodes in pieces if node is not None]
    return ChapterText(path.stem, ast.get_docstring(tree) or "", header, tuple(parts))


def _pieces(body: list[ast.stmt]) -> list[tuple[ast.stmt | None, list[ast.stmt]]]:
    """Group the statements: what has no name of its own goes with the function that follows it."""
    pieces: list[tuple[ast.stmt | None, list[ast.stmt]]] = []
    waiting: list[ast.stmt] = []
    for node in body:
        waiting.append(node)
        if isinstance(node, NAMED) and not node.name.startswith("_"):
            first = not pieces
            before = [n for n in waiting[:-1] if first and not isinstance(n, NAMED)]
            if before:
                pieces.append((None, before))
            pieces.append((node, [n for n in waiting if n not in before]))
            waiting = []
    if waiting and pieces:
        pieces[-1][1].extend(waiting)
    return pieces or [(None, waiting)]


def _lines(lines: list[str], nodes: list[ast.stmt]) -> str:
    """Return the nodes' lines, and the comments between them."""
    if not nodes:
        return ""
    first = first_line(nodes[0])
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    return "\n".join(lines[first - 1 : nodes[-1].end_lineno]).strip("\n")


def _part(node: ast.stmt, source: str) -> Part:
    assert isinstance(node, NAMED)
    paragraphs = [" ".join(p.split()) for p in (ast.get_docstring(node) or "").split("\n\n")]
    effort = next((p for p in paragraphs[1:] if p.startswith("Difficulty ")), "")
    return Part(node.name, paragraphs[0], effort, source)
