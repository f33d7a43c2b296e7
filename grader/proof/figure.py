"""A figure of the proof: how many of how many, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

# one mistake of an author's often fails a hundred checks
MOST = 20


@dataclass
class Figure:
    """Counts what holds; `missing` says for each thing that does not what came instead."""

    title: str
    total: int = 0
    missing: list[str] = field(default_factory=list)

    def count(self, holds: bool, otherwise: str) -> None:
        """Count one thing."""
        self.total += 1
        if not holds:
            self.missing.append(otherwise)

    def add(self, other: Figure) -> None:
        """Add another figure of the same title."""
        self.total += other.total
        self.missing += other.missing

    @property
    def proved(self) -> bool:
        """Whether there was something to prove, and all of it holds."""
        return self.total > 0 and not self.missing

    def lines(self) -> list[str]:
        """Write the figure, and below it what is missing, or the first of it."""
        line = f"{self.title:<44} {self.total - len(self.missing)}/{self.total}"
        more = [f"and {len(self.missing) - MOST} more"] if len(self.missing) > MOST else []
        return [line, *(f"    {text}" for text in [*self.missing[:MOST], *more])]


def added_up(figures: Iterable[Figure]) -> list[Figure]:
    """Add up those of one title."""
    totals: dict[str, Figure] = {}
    for figure in figures:
        totals.setdefault(figure.title, type(figure)(figure.title)).add(figure)
    return list(totals.values())
