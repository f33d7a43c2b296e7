"""Dataclasses as plain data that JSON can hold, and back, whatever fields they have."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from fractions import Fraction
from typing import Any

AS_IT_IS = (str, bool, int, float, type(None))


def plain(value: Any) -> Any:
    """Return a value as lists, dicts and what JSON has besides; a dataclass is a list of fields."""
    kind = type(value)
    if kind in AS_IT_IS:
        return value
    if dataclasses.is_dataclass(kind):
        return [plain(getattr(value, name)) for name in _names(kind)]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return str(value) if isinstance(value, Fraction) else value


class Decoder:
    """Reads back what `plain` gave; equal dataclasses become one object, which saves memory."""

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}

    def read(self, said: Any, kind: Any) -> Any:
        """Return the value of a type.

        Args:
            said: plain data.
            kind: a dataclass, or what the fields of one are annotated with.

        Raises:
            TypeError: it is none of that type.
            ValueError: it has too many values, or too few.
        """
        if dataclasses.is_dataclass(kind):
            return self._dataclass(said, kind)
        if kind is Fraction:
            return Fraction(said)
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (types.UnionType, typing.Union):
            return self._one_of(said, inner)
        if origin is typing.Literal:
            return _if(said in inner, said)
        if origin is dict:
            return {str(key): self.read(one, inner[1]) for key, one in said.items()}
        if origin in (list, tuple):
            _if(isinstance(said, list), said)
            kinds = inner[:1] * len(said) if origin is list or inner[1:] == (...,) else inner
            return origin(self.read(one, of) for one, of in zip(said, kinds, strict=True))
        return said if kind is Any else _if(isinstance(said, kind), said)

    def _dataclass(self, said: Any, kind: Any) -> Any:
        _if(isinstance(said, list), said)
        of = fields(kind).values()
        made = kind(*(self.read(one, inner) for one, inner in zip(said, of, strict=True)))
        try:
            return self._seen.setdefault(made, made)
        except TypeError:  # it holds a dict
            return made

    def _one_of(self, said: Any, kinds: tuple[Any, ...]) -> Any:
        for kind in kinds[:-1]:
            try:
                return self.read(said, kind)
            except (TypeError, ValueError):
                continue
        return self.read(said, kinds[-1])


def shape(kind: Any) -> dict[str, list[str]]:
    """Name the fields of a dataclass, and of those inside it: by this, versions are told apart."""
    is_data = isinstance(kind, type) and dataclasses.is_dataclass(kind)
    own = fields(kind) if is_data else {}
    named = {kind.__name__: list(own)} if is_data else {}
    for inner in own.values() if is_data else typing.get_args(kind):
        named |= shape(inner)
    return named


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields: they are asked for very often."""
    return tuple(field.name for field in dataclasses.fields(kind))


@functools.cache
def fields(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields by their names, in order."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _if(is_right: bool, said: Any) -> Any:
    if not is_right:
        raise TypeError("a value of another type")
    return said
