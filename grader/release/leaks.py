"""Proving that no line of a solution is in a pack."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

COMMENT = re.compile(r"(^|\s)#.*")
TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[-+*/@%<>=!&|~^]+")
EVERYWHERE = {*keyword.kwlist, "self", "="}
FEW = 3
SHORT = 30


@dataclass(frozen=True)
class Leak:
    """A line of a solution that stands in a file of a pack."""

    file: str
    number: int
    line: str
    solution: str


def leaks(
    files: Mapping[str, bytes], solutions: Iterable[Path], public: Iterable[Path]
) -> list[Leak]:
    """Find the telling lines and statements of solutions in a pack.

    Args:
        files: the pack, from names to contents.
        solutions: files whose functions are answers.
        public: files that students may see anyway; what stands in them is no secret.
    """
    open_lines = {line for path in public for _, line in _all(path.read_text(encoding="utf-8"))}
    secret: dict[str, str] = {}
    for path in solutions:
        for line in _of_bodies(path.read_text(encoding="utf-8")):
            if telling(line) and line not in open_lines:
                secret.setdefault(line, f"{path.parent.name}/{path.name}")
    found = {
        Leak(name, number, line, secret[line]): None
        for name in sorted(files)
        for number, line in _all(files[name].decode("utf-8", "replace"))
        if line in secret
    }
    return list(found)


def telling(line: str) -> bool:
    """Tell whether a line says something of a solution.

    A line is trivial if it is short and holds fewer than three different names, numbers and
    signs: `else:`, `return total`, `loss.backward()`, `self.n_heads = n_heads`. So is the head of
    an `except`.
    """
    if line.startswith("except"):
        return False
    return len(line) >= SHORT or len(set(TOKEN.findall(line)) - EVERYWHERE) >= FEW


def _plain(line: str) -> str:
    """Leave out comments and what only sets a line apart by its looks."""
    return " ".join(COMMENT.sub("", line).split())


def _all(text: str) -> Iterator[tuple[int, str]]:
    """Go through the lines of a file and, if it is Python, through its statements on one line."""
    for number, line in enumerate(text.splitlines(), 1):
        yield number, _plain(line)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    yield from _on_one_line(tree)


def _on_one_line(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Write the simple statements that take several lines on one."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or hasattr(node, "body"):
            continue
        if node.end_lineno != node.lineno:
            yield node.lineno, ast.unparse(node)


def _of_bodies(text: str) -> Iterator[str]:
    """Go through what stands inside of functions, docstrings apart."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            for statement in body:
                last = statement.end_lineno or statement.lineno
                yield from map(_plain, lines[statement.lineno - 1 : last])
                yield from (line for _, line in _on_one_line(statement))
