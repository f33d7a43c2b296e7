"""What a worker says of values that cannot be sent: no more than a name and a text comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.remote.channel import WireError
from grader.remote.wire import DTYPES
from grader.trouble import printable


class Opaque:
    """Stands for an object of an answer's that is in the other process.

    Attributes:
        kit_number: of the object there; None if nothing can be asked of it.
        kit_exercise: which one has made it.
        kit_reached: asks for an attribute of it; a slip that runs here uses an answer's object.
    """

    kit_number: int | None = None
    kit_exercise = ""
    kit_reached: Callable[[Opaque, str], Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self.kit_reached is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return self.kit_reached(self, name)


def opaque(name: Any, said: Any) -> Opaque:
    """Make an object that has nothing but a type's name and a text."""
    word = name[:60] if type(name) is str and name.isidentifier() else "object"
    text = printable(said[:200]) if type(said) is str else "?"
    made = type(word, (Opaque,), {"__repr__": lambda _: text, "__module__": "answer"})
    return made()


def vast(name: Any, shape: Any) -> Any:
    """Make an object in the place of a tensor that is too large to be sent."""
    good = type(shape) is list and len(shape) <= 16 and type(name) is str and name in DTYPES
    if not good or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise WireError("a shape is malformed")
    return opaque("Tensor", f"{name} {shape}, far too large")


def words(said: Any) -> list[str]:
    """Read a list of short texts; what is none is left out."""
    listed = said[:20] if type(said) is list else []
    return [printable(one[:300]) for one in listed if type(one) is str]
