"""What the judge has a worker notice in a check, and what it takes in of the worker's claims."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from grader.answers.switches import OF_CALLS
from grader.costs import Counting
from grader.dry_run import Crossing, heard
from grader.reading.families import Family
from grader.remote.claims import words

# more ready-made calls than anybody reads of
MOST_SEEN = 100


class Observed:
    """Of one check: ready-made calls, the dry run, costs, and switches that a call left set.

    Args:
        called: how files of the answer are called in a message.

    Attributes:
        counting: what counts the costs of calls, while these are counted.
        switches_left: by which exercise, and which.
    """

    def __init__(self, called: Callable[[str], str]) -> None:
        self.counting: Counting | None = None
        self.switches_left: list[tuple[str, str]] = []
        self.family: Family | None = None
        self._called = called
        self._seen: list[str] = []
        self._crossing: Crossing | None = None
        self._crossed = 0
        self._counts: Counting | None = None
        self._counted = 0

    @property
    def crossing(self) -> Crossing | None:
        """The way to a pretended machine, while calls are made there."""
        return self._crossing

    @crossing.setter
    def crossing(self, way: Crossing | None) -> None:
        self._crossing = way
        self._crossed += way is not None

    def begins_to_count(self) -> Counting:
        """Count from now on what calls cost, over there, until `counting` is None."""
        self._counted += 1
        self.counting = self._counts = Counting(self._called, here=False, after=self._counts)
        return self.counting

    @contextlib.contextmanager
    def noticing(self, family: Family) -> Iterator[list[str]]:
        """Collect the ready-made calls of a family."""
        self.family, self._seen = family, []
        try:
            yield self._seen
        finally:
            self.family = None

    def sees(self, names: list[str]) -> None:
        """Take in ready-made calls that the judge itself has seen."""
        self._seen += names

    def asks(self) -> dict[str, Any]:
        """Say what to notice: ready-made calls, and costs or what would go wrong on a GPU."""
        say: dict[str, Any] = {"notice": self.family} if self.family else {}
        if self.counting is not None:
            return {**say, "counts": self._counted}
        if self.crossing is None:
            return say
        forgiven = sorted(self.crossing.trip.forgiven)
        return {**say, "crosses": self._crossed, **({"forgiven": forgiven} if forgiven else {})}

    def hears(self, header: dict[str, Any], exercise: str) -> None:
        """Take in what the worker claims of a call of an exercise."""
        for name in {one.name for one in OF_CALLS}.intersection(words(header.get("switched"))):
            if (exercise, name) not in self.switches_left:
                self.switches_left.append((exercise, name))
        self._seen += words(header.get("seen"))[: max(0, MOST_SEEN - len(self._seen))]
        if self.counting is not None:
            self.counting.hears(header.get("costs"))
        if self.crossing is not None:
            for mistake in heard(header.get("mistakes")):
                self.crossing.trip.add(mistake)
