"""Whose submission it is: a student of a gradebook, if the name says so without a doubt."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.whose import LOOSE, by_a_platform, in_front


@dataclass(frozen=True)
class Student:
    """A row of a gradebook.

    Attributes:
        row: its place in the sheet.
        number: the platform's own number of the student, as it stands in file names.
        identifiers: what names the student and nobody else: login, email, student number.
        name: the full name; with a comma, the family name is first.
        is_real: False for the one that Canvas gives instructors to see a course as students do.
    """

    row: int
    number: str
    identifiers: tuple[str, ...]
    name: str
    is_real: bool = True


class Roster:
    """The students of a gradebook, found by what a submission is called."""

    def __init__(self, students: list[Student]) -> None:
        self.students = students
        self._exactly: dict[str, list[Student]] = defaultdict(list)
        self._by_number: dict[str, list[Student]] = defaultdict(list)
        self._by_name: dict[str, list[Student]] = defaultdict(list)
        for student in students:
            for text in _exact(student):
                self._exactly[text].append(student)
            if student.number:
                self._by_number[student.number].append(student)
            for key in set(_loose(student)):
                self._by_name[key].append(student)

    def find(self, identity: str) -> Student | str:
        """Return the student of a submission, or why there is none; never one of two."""
        exact = self._exactly.get(_folded(identity), [])
        match = None if exact else by_a_platform(identity) or self._loose_of_one(identity)
        if match:
            return self._numbered(match["name"], match["number"])
        return _only(exact or self._named(identity))

    def absent(self, identities: Iterable[str]) -> list[str]:
        """Name those whose submission is not among these."""
        known, doubtful = set[int](), Counter[frozenset[int]]()
        for identity in identities:
            found = self.find(identity)
            if isinstance(found, Student):
                known.add(found.row)
            else:
                doubtful[self._of_one_name(identity)] += 1
        # two of one name have handed in where two have, whoever is who
        for rows, count in doubtful.items():
            if count >= len(rows):
                known |= rows
        there = (one for one in self.students if one.is_real)
        return [self._told(one) for one in there if one.row not in known]

    def _told(self, student: Student) -> str:
        """Call a student by name, and two of one name by what tells them apart, too."""
        name = student.name or student.number
        if len(self._named(student.name)) < 2 or not student.identifiers:
            return name
        emails = (text for text in student.identifiers if "@" in text)
        return f"{name} ({next(emails, student.identifiers[0])})"

    def _of_one_name(self, identity: str) -> frozenset[int]:
        """Return the rows of those who may be meant, where their names are the same."""
        front = in_front(identity)
        return frozenset(one.row for one in self._named(front["name"] if front else identity))

    def _numbered(self, name: str, number: str) -> Student | str:
        found = self._with_number(number)
        if not found:
            return _only(self._named(name))
        # the number of a group may be that of somebody else
        agree = [s for s in found if not s.name or _agrees(name, s.name)]
        return _only(agree) if agree else f"number {number} belongs to somebody of another name"

    def _loose_of_one(self, identity: str) -> re.Match[str] | None:
        """Read a name and a number, if they are somebody's here: not every number is."""
        loose = LOOSE.fullmatch(identity)
        if loose is None:
            return None
        by_number = self._with_number(loose["number"])
        known = by_number if self._by_number else self._named(loose["name"])
        return loose if known else None

    def _with_number(self, number: str) -> list[Student]:
        return self._by_number.get(number, [])

    def _named(self, name: str) -> list[Student]:
        return self._by_name.get(_key(name), []) if _key(name) else []


def _only(found: list[Student]) -> Student | str:
    if len(found) == 1:
        return found[0]
    return f"{len(found)} students could be meant" if found else "no student is called so"


def _exact(student: Student) -> set[str]:
    return {_folded(text) for text in (student.number, *student.identifiers) if text}


def _loose(student: Student) -> Iterator[str]:
    yield from _orders(student.name)
    yield from (_key(text.partition("@")[0]) for text in student.identifiers if "@" in text)


def _orders(name: str) -> set[str]:
    """A name as people write it: family name first or last, words run together."""
    family, comma, given = name.partition(",")
    words = name.split()
    if comma:
        return {_key(name), _key(given + family)}
    return {_key(" ".join(words[place:] + words[:place])) for place in range(len(words))}


def _agrees(said: str, name: str) -> bool:
    # Moodle may put the login before the name
    return any(order and _key(said).endswith(order) for order in _orders(name))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()


def _key(text: str) -> str:
    """Letters and digits alone, without accents: what is left of a name in a file name."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in letters if c.isalnum())
