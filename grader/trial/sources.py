"""What a save touched: which functions, and which chapters use the file."""

from __future__ import annotations

import ast
import re

from grader.written.folder import Folder


def functions(text: bytes) -> dict[str, str]:
    """Return the source of each function and class of a chapter; nothing if it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    # the tree without its places: moving a function or a comment does not change it
    return {node.name: ast.dump(node) for node in tree.body if isinstance(node, kinds)}


def touched(before: dict[str, str], now: dict[str, str]) -> set[str]:
    """Name what was written, changed or removed between two versions."""
    return {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}


def users(stem: str, folder: Folder) -> list[str]:
    """List the chapters that import a chapter, directly or by way of another."""
    imports = {other: _imports(folder.text(other)) for other in folder.names}
    found, queue = set[str](), [stem]
    while queue:
        used = queue.pop()
        new = {other for other, names in imports.items() if used in names} - found - {stem}
        found |= new
        queue += new
    return [other for other in imports if other in found]


def _imports(source: bytes) -> set[str]:
    """Name the chapters that a source's import lines mention: also if it does not parse."""
    text = source.decode("utf-8", "replace")
    lines = re.findall(r"^[ \t]*(?:from|import)\b.*", text, re.MULTILINE)
    return set(re.findall(r"\bex\d\d_\w+", "\n".join(lines)))
