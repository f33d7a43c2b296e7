"""Telling a stub from a begun function by its text alone."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def parsed(source: str | bytes) -> ast.Module:
    """Parse, without the warnings that a stranger's code may give rise to.

    Raises:
        SyntaxError: it is not Python, or nested too deep to be read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (RecursionError, MemoryError):
        raise SyntaxError("it is nested too deep") from None
    except ValueError as problem:
        raise SyntaxError(str(problem)) from None


# Python 3.10 ends with what it is given to parse if that is nested deeply
LONGEST = 100_000


def started(source: bytes, names: Collection[str]) -> int:
    """Count the functions that hold something; a file that is not Python yet counts as one."""
    last = _last(source, names)
    return 1 if last is None else sum(not is_stub(node) for node in last.values())


def same(one: bytes, other: bytes, names: Collection[str]) -> bool:
    """Tell whether two files define the functions alike."""
    last = [_last(source, names) for source in (one, other)]
    try:
        mine, theirs = ({n: ast.dump(node) for n, node in (found or {}).items()} for found in last)
    except RecursionError:
        return False
    return None not in last and mine == theirs


def _last(source: bytes, names: Collection[str]) -> dict[str, ast.stmt] | None:
    """Return the statements that define the functions; None if it is not Python yet."""
    if len(source) > LONGEST:
        return None
    try:
        body = parsed(source).body
    except SyntaxError:
        return None
    return {name: node for node in body for name in binds(node) if name in names}


def is_stub(node: ast.stmt) -> bool:
    """Tell whether a function, or a class's `__init__`, holds nothing yet."""
    if isinstance(node, FUNCTIONS):
        return all(_is_nothing(one) for one in node.body)
    if isinstance(node, ast.ClassDef):
        made = [one for one in node.body if isinstance(one, FUNCTIONS)]
        first = [one for one in made if one.name == "__init__"] or made
        return all(is_stub(one) for one in first) and (bool(first) or _is_empty(node))
    return False


def _is_empty(node: ast.ClassDef) -> bool:
    return all(_is_nothing(one) for one in node.body)


def _is_nothing(node: ast.stmt) -> bool:
    """Tell docstrings, `...`, `pass` and `raise NotImplementedError`."""
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass)


def binds(node: ast.stmt) -> list[str]:
    """Name what a statement at the top of a file defines, also as `name = lambda ...`."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
