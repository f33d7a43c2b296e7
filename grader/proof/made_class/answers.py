"""What students of a made-up class have written: no two the same."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader import places
from grader.chapters import catalogue
from grader.chapters.tracks import beyond
from grader.proof.strangers import wrong_answers

Odds = tuple[int, int, int]
Wrong = Mapping[str, Sequence[str]]
# how likely a function is right, wrong or untouched
MIXED: Odds = (5, 3, 2)
KINDS = {"right": 7, "mixed": 8, "spoiled": 2, "half done": 3, "untouched": 1, "broken line": 1}
# slips that can be made of any right function, by changing what it returns or is given
SPOILS = {
    "gradient cut": "_right(*a, **k).detach()",
    "in float64": "_right(*a, **k).double()",
    "a list": "[_right(*a, **k)]",
    "nothing": "(_right(*a, **k), None)[1]",
    "numpy": "_right(*a, **k).detach().numpy()",
}


@dataclass(frozen=True)
class Answers:
    """What a student has written.

    Attributes:
        kind: of student.
        files: the texts of the chapters, by stems.
    """

    kind: str
    files: dict[str, str]


@cache
def bases() -> list[Path]:
    """List right programs in many styles; loops take ten times as long as anything else."""
    return [path for path in places.variants() if path.name not in ("loops", "own_errors")]


@cache
def wrong_by_exercise() -> Wrong:
    """Return the wrong answers of strangers."""
    found = defaultdict(list)
    for program in wrong_answers():
        found[program.full].append(program.source)
    return found


def _names() -> dict[str, list[str]]:
    """Return the seven chapters with their exercises: of others not every variant has a file."""
    further = beyond()
    return {stem: names for stem, names in catalogue().names().items() if stem not in further}


def answers(kind: str, dice: random.Random, remark: str) -> Answers:
    """Write the answers of a student.

    Args:
        kind: one of KINDS.
        dice: all that is left to chance.
        remark: which nobody else makes.
    """
    base = dice.choice(bases())
    files = {stem: _text(base / f"{stem}.py") for stem in _names()}
    if kind == "mixed":
        files = mixed(base, MIXED, dice)
    elif kind == "spoiled":
        files = _spoiled(files, dice)
    elif kind == "half done":
        files |= _stubs(list(files)[dice.randrange(1, len(files)) :])
    elif kind == "untouched":
        files = _stubs(list(files))
    elif kind == "broken line":
        broken = dice.choice(list(files))
        files[broken] += "\nretrun x = (\n"
    return Answers(kind, {stem: f"# {remark}\n{text}" for stem, text in files.items()})


def mixed(base: Path, odds: Odds, dice: random.Random) -> dict[str, str]:
    """Take a stranger's right answer, with some functions exchanged for wrong or untouched ones."""
    wrong = wrong_by_exercise()
    files = {}
    for stem, names in _names().items():
        text = [_text(base / f"{stem}.py")]
        for name in names:
            kind = dice.choices(("right", "wrong", "untouched"), odds)[0]
            if kind == "wrong":
                text.append(dice.choice(wrong[f"{stem}.{name}"]))
            elif kind == "untouched":
                text.append(f'def {name}(*_, **__):\n    raise NotImplementedError("{name}")')
        files[stem] = "\n\n\n".join(text) + "\n"
    return files


def _spoiled(files: dict[str, str], dice: random.Random) -> dict[str, str]:
    names = [
        (stem, name)
        for stem, each in _names().items()
        for name in each
        if re.search(rf"^def {name}\(", files[stem], re.MULTILINE)
    ]
    stem, name = dice.choice(names)
    what = dice.choice(list(SPOILS.values()))
    spoiled = f"\n\n_right = {name}\n\n\ndef {name}(*a, **k):\n    return {what}\n"
    return {**files, stem: files[stem] + spoiled}


def _stubs(stems: Sequence[str]) -> dict[str, str]:
    return {stem: _text(places.EXERCISES / f"{stem}.py") for stem in stems}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
