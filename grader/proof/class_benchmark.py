"""What being wrong costs, over a mixed class: ratios from one run, never absolute times.

`python -m grader.proof.class_benchmark [COUNT [SEED]]` makes three classes of COUNT answers, all
unlike: right in every function, wrong in every function, and mixed, with right, wrong and untouched
functions. What is wrong was written by strangers. It times plain `pytest`, the whole command, and
`grade`.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from grader.proof.benchmark import PYTEST, seconds
from grader.proof.made_class.answers import MIXED, Odds, bases, mixed

# how likely a function is right, wrong or untouched
CLASSES: dict[str, Odds] = {"right": (1, 0, 0), "wrong everywhere": (0, 1, 0), "mixed": MIXED}


def main(count: int = 8, seed: int = 0) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as space:
        folders = {title: Path(space) / title.replace(" ", "_") for title in CLASSES}
        for title, folder in folders.items():
            dice = random.Random(seed)
            for at in range(count):
                student(folder / f"student_{at}", CLASSES[title], dice)
        alone = _in_turn(folders, count)
        together = {title: _grade(folder) / count for title, folder in folders.items()}
    _tell("pytest, the whole command", alone)
    _tell("grade, for each submission", together)


def student(folder: Path, odds: Odds, dice: random.Random) -> None:
    """Write an answer: a stranger's right one, with some functions exchanged."""
    folder.mkdir(parents=True)
    for stem, text in mixed(dice.choice(bases()), odds, dice).items():
        (folder / f"{stem}.py").write_text(text, encoding="utf-8")


def _in_turn(folders: dict[str, Path], count: int) -> dict[str, float]:
    """Time plain pytest on each answer, in turn, so that a machine that drifts drifts for all."""
    taken = defaultdict(list)
    for at in range(count):
        for title, folder in folders.items():
            answers = f"--answers={folder / f'student_{at}'}"
            taken[title].append(seconds([*PYTEST, answers]))
    return {title: statistics.mean(times) for title, times in taken.items()}


def _grade(folder: Path) -> float:
    return seconds(["-m", "grader", "grade", str(folder), "--seed", "1", "--device", "cpu"])


def _tell(what: str, times: dict[str, float]) -> None:
    for title, taken in times.items():
        ratio = taken / times["right"]
        print(f"{what:<28} {title:<18} {taken:6.2f} s = {ratio:.2f} x a right one")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
