"""Which other exercises the code of an exercise names: only those can be to blame for it."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def uses(
    full: str, modules: Mapping[str, types.ModuleType], names: Mapping[str, Sequence[str]]
) -> list[str]:
    """List the exercises that one names, directly or by way of others, without running it.

    Args:
        full: the exercise.
        modules: the chapters that have been imported.
        names: every chapter's stem with the names of its exercises.
    """
    known = {
        id(vars(module)[name]): f"{stem}.{name}"
        for stem, module in modules.items()
        for name in names.get(stem, ())
        if name in vars(module)
    }
    stem, name = full.split(".")
    waiting, seen, found = [vars(modules[stem]).get(name)], set[int](), dict[str, None]()
    while waiting:
        made = waiting.pop()
        if id(made) in seen:
            continue
        seen.add(id(made))
        if known.get(id(made)) is not None:
            found[known[id(made)]] = None
        waiting += _named(made, modules)
    found.pop(full, None)
    return list(found)


def _named(made: Any, modules: Mapping[str, types.ModuleType]) -> Iterator[Any]:
    """Go through the functions and classes of the chapters that some code names."""
    members = list(vars(made).values()) if isinstance(made, type) else [made]
    for member in members:
        if not isinstance(member, types.FunctionType):
            continue
        spaces = [member.__globals__]
        for name in _names(member.__code__):
            value = member.__globals__.get(name)
            if isinstance(value, types.ModuleType) and value in modules.values():
                spaces.append(vars(value))
            for space in spaces:
                value = space.get(name)
                if isinstance(value, types.FunctionType | type):
                    yield value


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
