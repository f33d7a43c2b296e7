"""A question with its numbers drawn: what is asked, the answer, and what mistakes would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

Kind = Literal["number", "shape", "entries", "choice"]
Value = tuple[Any, ...]


@dataclass(frozen=True)
class Asked:
    """A question as it is asked.

    Attributes:
        text: what is asked; paragraphs, and pictures, whose lines begin with four spaces.
        kind: what is to be replied: numbers, a shape, entries of a tensor, or one of several texts.
        answer: the numbers, the sizes, the sorted entries, or the text in a tuple.
        why: the reason, in one to three sentences.
        wrong: what mistakes would give, each after the sentence that names the mistake.
        detail: of numbers, how many decimals; of entries, how many indices each has.
    """

    text: str
    kind: Kind
    answer: Value
    why: str
    wrong: tuple[tuple[str, Value], ...]
    detail: int = 0

    def same(self, one: Value, other: Value, room: float = 1.0) -> bool:
        """Tell whether two values are one and the same reply.

        Args:
            one: a value of this kind.
            other: another.
            room: how many units of the last decimal they may lie apart; whole numbers may not.
        """
        if self.kind != "number":
            return one == other
        apart = room * 10.0**-self.detail * 1.001 if self.detail else 1e-9
        return len(one) == len(other) and all(
            a == b or abs(a - b) <= apart for a, b in zip(one, other, strict=True)
        )

    @property
    def is_clear(self) -> bool:
        """Whether no reply could mean two things: all values lie apart, with room for rounding."""
        values = [self.answer, *(value for _, value in self.wrong)]
        return not any(self.same(a, b, 2.0) for a, b in combinations(values, 2))

    def mistake(self, value: Value) -> str:
        """Name the mistake that gives this value; nothing if it is none that is known."""
        return next((says for says, one in self.wrong if self.same(value, one)), "")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Asked:
        """Take it from plain data."""
        return Asked(**{name: _tuple(value) for name, value in data.items()})


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


# ---- what the questions are made with ----


def number(
    text: str,
    answer: float | Sequence[float],
    *,
    why: str,
    wrong: Mapping[str, float | Sequence[float]],
    digits: int = 0,
) -> Asked:
    """Ask for one number or for several, to so many decimals."""
    found = tuple((says, _numbers(value)) for says, value in wrong.items())
    return Asked(text, "number", _numbers(answer), why, found, digits)


def _numbers(value: float | Sequence[float]) -> Value:
    row = [value] if isinstance(value, int | float) else value
    # one Python adds up floats in another way than the next: the same seed must ask the same
    return tuple(round(float(one), 9) for one in row)


def shape(
    text: str, answer: Sequence[int], *, why: str, wrong: Mapping[str, Sequence[int]]
) -> Asked:
    """Ask for the shape of a tensor."""
    found = tuple((says, tuple(value)) for says, value in wrong.items())
    return Asked(text, "shape", tuple(answer), why, found)


def entries(
    text: str,
    answer: Sequence[int] | Sequence[tuple[int, ...]],
    *,
    why: str,
    wrong: Mapping[str, Sequence[int] | Sequence[tuple[int, ...]]],
) -> Asked:
    """Ask for entries: positions in a row, or the row and column of each."""
    found = tuple((says, _entries(value)) for says, value in wrong.items())
    listed = [*_entries(answer), *(one for _, value in found for one in value)]
    return Asked(text, "entries", _entries(answer), why, found, len(listed[0]))


def _entries(value: Sequence[int] | Sequence[tuple[int, ...]]) -> Value:
    return tuple(sorted({(one,) if isinstance(one, int) else tuple(one) for one in value}))


def choice(text: str, answer: str, others: Mapping[str, str], *, why: str) -> Asked:
    """Ask for one of several texts; with each of the others goes what is wrong with it."""
    found = tuple((says, (one,)) for one, says in others.items())
    return Asked(text, "choice", (answer,), why, found)
