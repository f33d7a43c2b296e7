"""Values in values: tuples, lists and dictionaries of tensors and of anything else.

A path leads from a value to one that lies in it: the keys and positions, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[Any, ...]
CONTAINERS = (tuple, list, dict)
# what is equal is as good as the very same
PLAIN = (str, int, float, bool, bytes)
# what lies deeper is taken as it is: an answer may put a list into itself
DEEPEST = 16
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


class Attribute(str):
    """A step to an attribute, such as a weight of a module."""


def container(value: Any) -> type | None:
    """Return which of CONTAINERS a value is; a subclass counts as what it is made of."""
    return next((kind for kind in CONTAINERS if isinstance(value, kind)), None)


def entries(value: Any) -> list[tuple[Any, Any]]:
    """List what lies in a container, with its keys or positions.

    Whatever a subclass says of itself: an answer may have written it.
    """
    if isinstance(value, dict):
        return list(dict.items(value))
    return list(enumerate(tuple.__iter__(value) if isinstance(value, tuple) else
                          list.__iter__(value)))  # fmt: skip


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Go through what is no container, with the paths to it."""
    if container(value) is None or len(path) >= DEEPEST:
        yield path, value
        return
    for key, one in entries(value):
        yield from leaves(one, (*path, key))


def flat(*values: Any) -> list[Any]:
    """List what is no container, of several values."""
    return [one for value in values for _, one in leaves(value)]


def holders(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Go through the lists and dictionaries that lie in no other one: these can be changed."""
    kind = container(value)
    if kind in (list, dict):
        yield path, value
    elif kind is tuple and len(path) < DEEPEST:
        for key, one in entries(value):
            yield from holders(one, (*path, key))


def mapped(function: Callable[[Any], Any], value: Any, depth: int = 0) -> Any:
    """Return new containers, with what `function` makes of what lies in them."""
    if container(value) is None or depth >= DEEPEST:
        return function(value)
    made = [(key, mapped(function, one, depth + 1)) for key, one in entries(value)]
    return dict(made) if isinstance(value, dict) else _row(value, [one for _, one in made])


def _row(value: Any, inner: list[Any]) -> Any:
    return tuple(inner) if isinstance(value, tuple) else inner


def plainly(value: Any) -> Any:
    """Return a container as the tuple, the list or the dictionary that it is."""
    inner = entries(value)
    return dict(inner) if isinstance(value, dict) else _row(value, [one for _, one in inner])


def copied(value: Any) -> Any:
    """Return new containers that hold the same things."""
    return mapped(lambda one: one, value)


def holds_the_same(one: Any, other: Any) -> bool:
    """Tell whether two values are built alike and hold the very same, or equal plain values."""
    if one is other:
        return True
    if container(one) is None or container(one) is not container(other):
        alike = type(one) is type(other) and type(one) in PLAIN
        return alike and (one == other or (one != one and other != other))
    mine, others = dict(entries(one)), dict(entries(other))
    return list(mine) == list(others) and all(holds_the_same(mine[k], others[k]) for k in mine)


def at(value: Any, path: Path) -> Any:
    """Return what lies at a path.

    Raises:
        LookupError: there is nothing.
    """
    for key in path:
        value = dict(entries(value) if container(value) else ())[key]
    return value


def written(path: Path) -> str:
    """Write a path as Python does: `[1]["keys"]`."""
    steps = [f".{key}" if isinstance(key, Attribute) else f"[{_quoted(key)}]" for key in path]
    return "".join(steps)


def _quoted(key: Any) -> str:
    return f'"{key}"' if isinstance(key, str) else repr(key)


def spoken(path: Path) -> str:
    """Say which output a path leads to: "the second output (`output[1]`)"."""
    place = f"`output{written(path)}`"
    if len(path) == 1 and type(path[0]) is int and path[0] < len(ORDINALS):
        return f"the {ORDINALS[path[0]]} output ({place})"
    return place
