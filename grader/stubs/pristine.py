"""The stubs as they were at first.

A students' pack has a copy of them beside this file, which `release` writes. Where there is none,
as in the kit's own repository, they are cut out of the solutions: a stub is a solution's signature
and docstring without its body. `grader check` proves that this gives the exercises, byte for byte.
"""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

from grader import places
from grader.stubs.text import lines_of, span_of
from grader.written.cells import first_line

COPY = Path(__file__).parent


class NoStubsError(Exception):
    """This kit has neither a copy of the stubs nor the solutions."""


@dataclass(frozen=True)
class PristineChapter:
    """One chapter's stubs.

    Attributes:
        head: the text and the imports above the first function; of a solution only the imports.
        whole: whether `head` is all that stands there.
        functions: from each name to its stub, in teaching order.
    """

    head: bytes
    whole: bool
    functions: dict[str, bytes]

    def file(self, head: bytes | None = None) -> bytes:
        """Write the whole file."""
        return (head or self.head) + b"".join(b"\n\n" + text for text in self.functions.values())


class Pristine:
    """The stubs of all chapters.

    Raises:
        NoStubsError: there is nothing to take them from.
    """

    def __init__(self, copy: Path = COPY, solutions: Path = places.SOLUTIONS) -> None:
        self.chapters = {
            path.stem: of_stubs(path.read_bytes()) for path in sorted(copy.glob("ex*.py"))
        } or {
            path.stem: of_solution(path.read_bytes(), path.stem)
            for path in sorted(solutions.glob("ex*.py"))
        }
        if not self.chapters:
            raise NoStubsError(f"the stubs that belong in {COPY} are lost: take a fresh copy")

    def names(self) -> dict[str, list[str]]:
        """Return each chapter's functions."""
        return {stem: list(chapter.functions) for stem, chapter in self.chapters.items()}


def of_stubs(data: bytes) -> PristineChapter:
    """Take a chapter of stubs apart."""
    lines, functions = lines_of(data), {}
    nodes = _public(ast.parse(data))
    for node in nodes:
        span = span_of(node, lines)
        functions[node.name] = b"".join(lines[span.start : span.end])
    head = b"".join(lines[: span_of(nodes[0], lines).start])
    return PristineChapter(head.rstrip() + b"\n", True, functions)


def of_solution(data: bytes, stem: str) -> PristineChapter:
    """Cut the stubs out of a chapter of solutions."""
    lines, tree = lines_of(data), ast.parse(data)
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    head = b"".join(lines[imports[0].lineno - 1 : imports[-1].end_lineno])
    functions = {}
    for node in _public(tree):
        cut = _class if isinstance(node, ast.ClassDef) else _function
        functions[node.name] = cut(node, lines, f"{stem}.{node.name}")  # type: ignore[arg-type]
    return PristineChapter(head, False, functions)


def _public(tree: ast.Module) -> list[ast.FunctionDef | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [n for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]


def _function(node: ast.FunctionDef, lines: list[bytes], full: str) -> bytes:
    first = node.body[0]
    kept = first.end_lineno if ast.get_docstring(node) is not None else first.lineno - 1
    raises = " " * first.col_offset + f'raise NotImplementedError("{full}")\n'
    return b"".join(lines[first_line(node) - 1 : kept]) + raises.encode()


def _class(node: ast.ClassDef, lines: list[bytes], full: str) -> bytes:
    methods = [f for f in node.body if isinstance(f, ast.FunctionDef)]
    asked = [f for f in methods if not f.name.startswith("_") or f.name.startswith("__")]
    head = b"".join(lines[first_line(node) - 1 : node.body[0].end_lineno])
    return head + b"".join(b"\n" + _function(f, lines, full) for f in asked)


@functools.cache
def as_given() -> Pristine:
    """Read the stubs once."""
    return Pristine()


@functools.cache
def parameters(stem: str, name: str) -> list[str]:
    """List the parameters of a stub in their order.

    Raises:
        NoStubsError: there are no stubs to look at.
        KeyError: there is no such stub.
        SyntaxError: it is no Python.
    """
    function = ast.parse(as_given().chapters[stem].functions[name]).body[0]
    return [one.arg for one in function.args.args] if isinstance(function, ast.FunctionDef) else []
