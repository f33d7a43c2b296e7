"""A call that went through the door, and what it has left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader import nested


@dataclass(frozen=True)
class Call:
    """A call that went through the door, for the message.

    Attributes:
        name: the exercise.
        args: what it was called with.
        kwargs: the same, by name.
        made: of a module that is called, or of another object, the call that made it.
        module: that module, or that object.
        method: which of its methods is called; nothing for a module itself.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    made: Call | None = None
    module: Any = None
    method: str = ""

    @classmethod
    def of(
        cls, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any],
        made: Call | None = None, module: Any = None, method: str = "",
    ) -> Call:  # fmt: skip
        """Note a call; a list is told as it was given, whatever the call does to it."""
        named = {key: nested.copied(value) for key, value in kwargs.items()}
        return cls(name, tuple(map(nested.copied, args)), named, made, module, method)


@dataclass(frozen=True)
class Trace:
    """What a call has left behind, and must not.

    Attributes:
        call: the call, if it is known.
        place: which input was changed, by its name or its position; None for no input.
        part: what of the input, if not its values; or the switch that was set.
        now: what the input has become.
        before: the input.
        path: where in that input it lies.
    """

    call: Call | None
    place: int | str | None
    part: str
    now: Any = None
    before: Any = None
    path: nested.Path = ()
