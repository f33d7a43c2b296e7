"""Making a class: the same seed makes the same bytes, and says what has to come of each student."""

from __future__ import annotations

import itertools
import json
import random
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.proof.made_class.answers import KINDS, answers
from grader.proof.made_class.shapes import SHAPES, Author, Expected

# names as they are: with accents, with apostrophes, of one syllable and of four
FIRST = (
    "Zoë", "Jörg", "Łukasz", "Anna", "Mei", "Ngọc", "Chloé", "Søren", "Iñigo", "Fatma", "Çağla",
    "Jean-Luc", "Vera", "Ólafur", "Priya", "Tom", "Wei", "Müge", "André", "Kateřina",
)  # fmt: skip
LAST = (
    "Müller", "O'Brien", "Nguyễn", "García", "Åberg", "van den Berg", "Kovács", "Li", "Dvořák",
    "Šimić", "D'Angelo", "Þórsson", "Groß", "Ivanova", "Smith-Jones", "Yılmaz",
)  # fmt: skip
FIRST_NUMBER = 12960


@dataclass(frozen=True)
class Student:
    """A line of the ledger.

    Attributes:
        id: what the grader has to call them.
        kind: of answers.
        shape: in which they handed in.
        expected: whether they are graded, or only named with a reason.
        full: whether they have all points.
    """

    id: str
    kind: str
    shape: str
    expected: Expected
    full: bool


def make(into: Path, count: int, seed: int) -> list[Student]:
    """Write a class into a new folder, and return the ledger, which lies beside it as json.

    Args:
        into: the folder.
        count: of students.
        seed: of all that is left to chance.

    Raises:
        FileExistsError: the folder is there.
    """
    into.mkdir(parents=True)
    dice = random.Random(seed)
    weights = {name: weight for name, (weight, _) in SHAPES.items()}
    shapes, kinds = _drawn(weights, dice, count), _drawn(KINDS, dice, count)
    ledger = []
    for author, shape, kind in zip(_authors(dice), shapes, kinds, strict=False):
        written = answers(kind, dice, f"{author.folder}, {author.number}")
        handed_in = SHAPES[shape][1](into, author, written.files, dice)
        full = kind == "right" and handed_in.whole
        identity = unicodedata.normalize("NFC", handed_in.identity)
        ledger.append(Student(identity, kind, shape, handed_in.expected, full))
    text = json.dumps([asdict(one) for one in ledger], indent=1, ensure_ascii=False)
    ledger_of(into).write_text(f"{text}\n", encoding="utf-8", newline="\n")
    return ledger


def ledger_of(folder: Path) -> Path:
    """Return where the ledger of a class lies."""
    return folder.with_name(f"{folder.name}-ledger.json")


def _drawn(weights: dict[str, int], dice: random.Random, count: int) -> list[str]:
    """Draw by weights, but everything once as far as it goes."""
    names = list(weights)
    drawn = dice.sample(names, min(count, len(names)))
    drawn += dice.choices(names, list(weights.values()), k=count - len(drawn))
    dice.shuffle(drawn)
    return drawn


def _authors(dice: random.Random) -> Iterator[Author]:
    """Name everybody, nobody twice."""
    pairs = list(itertools.product(FIRST, LAST))
    dice.shuffle(pairs)
    for number in itertools.count():
        first, last = pairs[number % len(pairs)]
        again = number // len(pairs)
        yield Author(first, f"{last} {again + 1}" if again else last, FIRST_NUMBER + number)
