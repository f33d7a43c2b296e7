"""What a worker may ask of the judge in a check: it must not make the judge work, or hold, much."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from grader import nested
from grader.answers.clock import processor_limit
from grader.remote.channel import WireError
from grader.remote.patience import Patience
from grader.remote.wire import Opened
from grader.trouble import TimeLimit

# enough for every use of what is lent
MOST_NUMBERS = 131_072
LARGEST_SIZE = 256
# a module may let each row meet each other one, in each of its heads
MOST_MET = 2**18
MOST_CALLS = 5_000
MOST_OF_FUNCTIONS = 100_000
# a check calls an answer up to some 150 times, and each call may want caches of its own
MOST_MADE = 500
# the judge works for a worker at most so many times what a check may take, and a little at least
MOST_WORK = 2.0
LEAST_WORK = 0.1
MOST_RECKONED = 2**27
# bytes that all objects together, or the weights of all modules, may hold
MOST_HELD = 2**28
# of numbers so many may stay for the way back
MOST_KEPT = 2**23


class AsksTooMuch(WireError):
    """A worker has asked for more than any right answer needs; the sentence says of what."""


class Budget:
    """Counts what one check of an answer asks of what it was lent.

    Args:
        patience: counts the time; what the judge works for the submission is the submission's.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._calls = self._of_modules = self._made = 0
        self._reckoned = self._kept = self._weights = 0
        self._worked = 0.0
        self._works = False

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Count what the judge works.

        Raises:
            AsksTooMuch: it was more than a worker may ask for.
        """
        began = time.thread_time()
        before, self._works = self._works, True
        try:
            with processor_limit(max(self._time() - self._worked, LEAST_WORK)):
                yield
        except TimeLimit:
            raise self._too_long() from None
        finally:
            self._works = before
            took = time.thread_time() - began
            self._worked += took
            self._patience.total += took

    def hears(self, reply: Opened) -> None:
        """Bound what something of the answer's gives to what is lent, which goes on with it."""
        if self._works:
            _require(sum(map(extent, reply.tensors)), MOST_NUMBERS, "numbers handed over at once")

    def asked(self, kind: str, message: Opened) -> None:
        """Count a question of the worker's; there is an end to them, and to their size."""
        self._calls += 1
        _require(self._calls, MOST_OF_FUNCTIONS, "calls of what it was lent")
        if self._worked > self._time():
            raise self._too_long()
        if kind == "function" or (kind == "backward" and "lent" not in message.header):
            return
        self._of_modules += 1
        _require(self._of_modules, MOST_CALLS, "calls of modules and objects that it was lent")
        numbers = sum(value.numel() for value in message.tensors)
        _require(numbers, MOST_NUMBERS, "numbers handed over at once")
        if kind != "method":
            sizes = [size for value in message.tensors for size in value.shape]
            _require(max(sizes, default=0), LARGEST_SIZE, "along one dimension in a module")
            met = (reckoned([value.shape], ()) for value in message.tensors)
            _require(max(met, default=0), MOST_MET, "numbers in a module")

    def works_out(self, shapes: Sequence[Sequence[int]], given: Sequence[Any], times: int) -> int:
        """Count about how many numbers a function makes, called so many times; return that."""
        work = times * reckoned(shapes, given)
        self._reckoned += work
        _require(self._reckoned, MOST_RECKONED, "numbers to be worked out")
        return work

    def keeps(self, numbers: int) -> None:
        """Count what stays for the way back."""
        self._kept += numbers
        _require(self._kept, MOST_KEPT, "numbers kept for the way back")

    def makes(self) -> None:
        """Count one more module or object that is made for the worker."""
        self._made += 1
        _require(self._made, MOST_MADE, "modules and objects made for it")

    def weighs(self, module: nn.Module) -> None:
        """Count the weights of a module that was made for the worker."""
        self._weights += _bytes(module.parameters())
        _require(self._weights, MOST_HELD, "bytes of weights made for it")

    def holds(self, objects: Iterable[Any]) -> None:
        """Bound what all objects that were made for the worker hold together."""
        parts = nested.flat(*(vars(made) for made in objects))
        held = _bytes(one for one in parts if isinstance(one, Tensor))
        _require(held, MOST_HELD, "bytes held by the objects made for it")

    def _time(self) -> float:
        return MOST_WORK * self._patience.seconds

    def _too_long(self) -> AsksTooMuch:
        return AsksTooMuch(f"more than {self._time():g} s of work for what it was lent")


def refuse_large_sizes(given: Iterable[Any]) -> None:
    """Refuse to make a module or an object of a size that no right answer asks for.

    Raises:
        ValueError: one is too large.
    """
    if any(abs(whole(size) or 0) > LARGEST_SIZE for size in given):
        raise ValueError("a size is too large")


def reckoned(shapes: Sequence[Sequence[int]], given: Sequence[Any]) -> int:
    """Return about how many numbers a function makes at most of tensors of such shapes.

    Each row of one tensor may meet each row, or each column, of another; a number may be a size,
    and where it is the only one beside lengths, the size of both sides of a mask. Beside a tensor
    a float is no size, but a base or a rate.
    """
    rows = [math.prod(shape[:-1]) for shape in shapes]
    met = max((size for shape in shapes for size in shape[-2:]), default=1)
    sizes = [abs(size) for one in given if (size := whole(one, floats=not shapes))]
    made = max(sum(map(math.prod, shapes)), max(rows, default=1) * met)
    both = len(sizes) == 1 and all(len(shape) < 2 for shape in shapes)
    return made * math.prod(sizes) * (sizes[0] if both else 1)


def whole(one: Any, *, floats: bool = False) -> int | None:
    """Return the whole number that stands in an int, in NumPy's kinds or in a tensor, or None."""
    if isinstance(one, Tensor | np.ndarray | np.generic) and math.prod(one.shape) == 1:
        one = one.item()
    if floats and isinstance(one, float) and one.is_integer():
        one = int(one)
    return one if type(one) is int else None


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(one.untyped_storage().nbytes() for one in tensors)


def _require(found: int, most: int, of_what: str) -> None:
    if found > most:
        raise AsksTooMuch(f"more than {most:,} {of_what}")


def extent(value: Tensor) -> int:
    """Return how many numbers a tensor has, or of none how long it is."""
    return max(value.numel(), *value.shape, 0)
