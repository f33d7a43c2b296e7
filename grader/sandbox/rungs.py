"""Which walls come down for a GPU that does not work within all of them, and in which order.

The order is by what a wall is worth beside the others: memory is watched from outside as well; a
user of its own and rights given up matter least while files are kept by two walls; Landlock and a
file system of one's own each keep files alone; the filter of calls comes last, for without it a
submission reaches the network and other programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grader.sandbox.isolation import Isolation

ORDER = ("limits", "own_uid", "capabilities", "namespaces", "landlock", "seccomp")
NAMES = {
    "limits": "the limits on memory and files",
    "own_uid": "a user of its own",
    "capabilities": "rights given up",
    "namespaces": "a file system of its own",
    "landlock": "Landlock",
    "seccomp": "the filter of system calls",
}


@dataclass(frozen=True)
class Rung:
    """How far down the walls had to come.

    Attributes:
        isolation: the walls that are left; None if it works within none.
        down: what had to come down.
        why: the error of the device within all walls; nothing if it works there.
        free: megabytes of the device's memory that nobody has taken; 0 where that is unknown.
    """

    isolation: Isolation | None
    down: tuple[str, ...] = ()
    why: str = ""
    free: int = 0

    @property
    def says(self) -> str:
        """The walls that are down, as the end of a sentence."""
        return ", ".join(NAMES[one] for one in self.down)


def highest(isolation: Isolation, attempt: Callable[[Isolation], str]) -> Rung:
    """Take walls down one at a time until an attempt succeeds, and put back what may stand.

    What is worth most goes up again first.

    Args:
        isolation: the walls of this machine.
        attempt: does the work within some walls; returns its error, nothing if it has done it.
    """
    why = attempt(isolation)
    if not why:
        return Rung(isolation)
    down: list[str] = []
    last = why
    for layer in _standing(isolation):
        down.append(layer)
        last = attempt(_without(isolation, down))
        if not last:
            break
    else:
        return Rung(None, tuple(down), last)
    for layer in reversed(down[:-1]):  # the last one was needed: without it nothing worked
        fewer = [one for one in down if one != layer]
        if not attempt(_without(isolation, fewer)):
            down = fewer
    return Rung(_without(isolation, down), tuple(down), why)


def _standing(isolation: Isolation) -> Iterator[str]:
    return (layer for layer in ORDER if isolation.without(layer) != isolation)


def _without(isolation: Isolation, layers: list[str]) -> Isolation:
    for layer in layers:
        isolation = isolation.without(layer)
    return isolation
