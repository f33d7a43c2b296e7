"""Tables of a TOML file, taken key by key: a wrong type or an unknown key is a sentence."""

from __future__ import annotations

import datetime as dt
import difflib
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest needs it there

Word = TypeVar("Word", bound=str)
MOST_DAYS = 3650


class CourseError(ValueError):
    """A course's rules cannot be used; the sentence says why."""


def parsed(text: str) -> dict[str, Any]:
    """Read TOML.

    Raises:
        ValueError: it is none.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its brackets lie too deep in each other") from None


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Ask for the known word that is most like another one; nothing if none is."""
    near = difflib.get_close_matches(word, known, n=1)
    return f": did you mean `{near[0]}`?" if near else ""


class Table:
    """One table, and where it stands.

    Args:
        said: its keys and values.
        where: how an error calls it.
    """

    def __init__(self, said: Mapping[str, Any], where: str) -> None:
        self._said, self.where = said, where
        self._known: list[str] = []

    def own_keys(self) -> list[str]:
        """List the keys, where they are names of somebody's own choice."""
        return list(self._said)

    def table(self, key: str) -> Table:
        """Return the table of a key; an empty one if there is none."""
        said = self._take(key, dict, f"a table, as in [{key}]")
        return Table(said or {}, f"{self.where}: [{key}]")

    def tables(self, key: str) -> list[Table]:
        """Return the tables of a key, in order."""
        said = self._take(key, list, f"tables, each with [[{key}]] above it") or []
        if not all(isinstance(one, dict) for one in said):
            raise self._wrong(key, f"tables, each with [[{key}]] above it")
        return [Table(one, f"{self.where}: [[{key}]] {place}") for place, one in enumerate(said, 1)]

    def text(self, key: str) -> str | None:
        """Return a text."""
        said: str | None = self._take(key, str, "a text in quotes")
        return said

    def texts(self, key: str) -> dict[str, str]:
        """Return a table of texts."""
        inner = self.table(key)
        return {name: inner.text(name) or "" for name in inner.own_keys()}

    def names(self, key: str) -> list[str]:
        """Return one name or a list of them, and never none or an empty one.

        Raises:
            CourseError: there is none.
        """
        says = 'names, as in "ex01..ex03" or ["ex04_softmax", "causal_mask"]'
        said = self._take(key, (str, list), says)
        names = [said] if isinstance(said, str) else said
        if not names or not all(isinstance(one, str) and one.strip(" ,") for one in names):
            raise self._wrong(key, says)
        return list(names)

    def number(self, key: str, most: int | None = None) -> Fraction | None:
        """Return a number, 0 or more."""
        up_to = "" if most is None else f" to {most}"
        says = f"a number from 0{up_to}" if up_to else "a number, 0 or more"
        said = self._take(key, (int, float), says)
        if said is None:
            return None
        in_range = not isinstance(said, bool) and 0 <= said < float("inf")
        if not in_range or (most is not None and said > most):
            raise self._wrong(key, says)
        return Fraction(str(said))

    def whole(self, key: str) -> int | None:
        """Return a whole number, 0 or more."""
        said = self.number(key)
        if said is not None and said.denominator != 1:
            raise self._wrong(key, "a whole number")
        return None if said is None else int(said)

    def moment(self, key: str) -> dt.datetime | None:
        """Return a date with a time and a zone."""
        bare = "without quotes, " if isinstance(self._said.get(key), str) else ""
        says = (
            f"a date with a time and its distance from UTC, {bare}as in 2026-10-05T23:59:00+02:00"
        )
        said: dt.datetime | None = self._take(key, dt.datetime, says)
        if said is not None and said.tzinfo is None:
            raise self._wrong(key, says)
        return said

    def days(self, key: str) -> dict[int, Fraction]:
        """Return days: a number for every week, or a table of numbers by week."""
        says = "a number of days, or a table by week, as in { 2 = 3 }"
        if not isinstance(self._take(key, (int, float, dict), says), dict):
            return {0: self.number(key, MOST_DAYS) or Fraction(0)}
        inner = self.table(key)
        found: dict[int, Fraction] = {}
        for week in inner.own_keys():
            if not (week.isascii() and week.isdigit() and int(week)):
                raise self._wrong(key, says)
            found[int(week)] = inner.number(week, MOST_DAYS) or Fraction(0)
        return found

    def one_of(self, key: str, words: Sequence[Word]) -> Word:
        """Return one of some words; the first of them if nothing is said."""
        says = "one of " + ", ".join(f'"{word}"' for word in words)
        said = self._take(key, str, says)
        found = words[0] if said is None else next((one for one in words if one == said), None)
        if found is None:
            raise self._wrong(key, says)
        return found

    def end(self) -> None:
        """Refuse what nobody has asked for.

        Raises:
            CourseError: there is a key that means nothing.
        """
        for key in self._said:
            if key not in self._known:
                meant = did_you_mean(key, self._known) or f"; there is {self._all()}"
                raise CourseError(f"{self.where}: there is no key `{key}`{meant}")

    def _all(self) -> str:
        return ", ".join(sorted(set(self._known)))

    def _take(self, key: str, kind: type | tuple[type, ...], says: str) -> Any:
        self._known.append(key)
        said = self._said.get(key)
        if said is not None and (not isinstance(said, kind) or isinstance(said, bool)):
            raise self._wrong(key, says)
        return said

    def _wrong(self, key: str, says: str) -> CourseError:
        given = f"not {_as_toml(self._said[key])}" if key in self._said else "and it is missing"
        return CourseError(f"{self.where}: `{key}` is {says}, {given}")


def _as_toml(said: object) -> str:
    return said.isoformat() if isinstance(said, dt.date | dt.time) else repr(said)
