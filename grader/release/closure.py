"""Which of the kit's modules a student's commands need: those, and what they import in turn."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeGuard

MODULE = re.compile(r"\w+(\.\w+)+")
FILE = re.compile(r"\w[\w.-]{1,60}")
CODE = (".py", ".pyc")


class _Text(ast.Constant):
    value: str


def needed(
    roots: Iterable[str],
    top: Path,
    never: Collection[str] = (),
    read: Callable[[Path], bytes] = Path.read_bytes,
) -> list[Path]:
    """List the files that modules need, themselves among them, also for imports made late.

    A module that another names in a string, or in code in a string, counts as imported: that is
    how a process of its own is told what to load. So does a file, or a folder of files, that is
    named and lies beside it.

    Args:
        roots: names of modules, `grader.cli`.
        top: the folder that holds the package.
        never: packages that stay away, although a rare path through the code leads to them.
        read: gives the code of a file, as it will be in the pack.
    """
    found: dict[Path, None] = {}
    waiting = list(roots)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or any(f"{name}.".startswith(f"{one}.") for one in never):
            continue
        seen.add(name)
        path = _file(name, top)
        if path is None:
            continue
        waiting += [name.rpartition(".")[0]] if "." in name else []
        tree = ast.parse(read(path), str(path))
        found[path] = None
        found.update(dict.fromkeys(_data(tree, path)))
        waiting += _imported(tree, name if path.name == "__init__.py" else name.rpartition(".")[0])
    return sorted(found)


def _file(name: str, top: Path) -> Path | None:
    path = top.joinpath(*name.split("."))
    candidates = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((one for one in candidates if one.is_file()), None)


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    """Name whatever a module may import; names that are no modules do no harm."""
    docstrings = _docstrings(tree)
    if any(isinstance(node, ast.Name) and node.id == "__package__" for node in ast.walk(tree)):
        yield f"{package}.__main__"  # who names his own package means to run it
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif _is_text(node) and node not in docstrings:
            yield from _in_text(node.value)


def _is_text(node: ast.AST) -> TypeGuard[_Text]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _docstrings(tree: ast.Module) -> set[ast.AST]:
    """Collect the texts that are for readers: what they name is not imported."""
    alone = (node for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return {node.value for node in alone}


def _in_text(text: str) -> Iterator[str]:
    """Name the modules of a text that is a module's name, or that is code to be run."""
    if MODULE.fullmatch(text):
        yield text
    elif "import " in text:
        with contextlib.suppress(SyntaxError, ValueError):
            yield from _imported(ast.parse(text), "")


def _data(tree: ast.Module, path: Path) -> Iterator[Path]:
    """List the files beside a module that it names and that are not modules."""
    for node in ast.walk(tree):
        if _is_text(node) and FILE.fullmatch(node.value):
            beside = path.parent / node.value
            inside = [beside] if beside.is_file() else sorted(beside.rglob("*"))
            if not (beside / "__init__.py").exists():
                yield from (one for one in inside if one.is_file() and one.suffix not in CODE)
