"""Why: one question about a function that you have solved, and the answer with its reason."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from grader.commands.usage import answers_folder, as_usage

if TYPE_CHECKING:
    from grader.quiz.question import Question

HELP = "one question about a function that you have solved"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the name of a function or chapter, and the seed."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="scale_scores, or a chapter (default: any that is solved)",
    )
    parser.add_argument("--seed", type=int, metavar="N",
                        help="the same question as before (default: a new one)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Ask it: 0 asked, 1 nothing of the kind is solved yet."""
    from grader.naming import select
    from grader.quiz.chapter import SEEDS
    from grader.quiz.talk import Sitting, SittingEnded
    from grader.stubs import NoStubsError, Pristine

    with as_usage(NoStubsError):
        names = Pristine().names()
        known = [f"{stem}.{name}" for stem, functions in names.items() for name in functions]
        wanted = select(given.name, names) if given.name else known
    seed = Random().randrange(SEEDS) if given.seed is None else given.seed % SEEDS
    Random(seed).shuffle(wanted)
    full = _solved(wanted, answers_folder(given))
    if not full:
        print(_not_yet(given.name, wanted))
        return 1
    question = _question(full)
    if question is None:
        print(f"There is no such question on {full}.")
        return 0
    talk = Sitting(seed)
    try:
        talk.ask(question, f"On {full}. Enter shows the answer, q ends.")
    except (SittingEnded, KeyboardInterrupt):
        print(f"Ended. The same again: python -m grader why {full.split('.')[1]} --seed {seed}")
    return 0


def _solved(wanted: Sequence[str], answers: Path) -> str:
    """Return the first of them whose core checks pass; nothing if there is none."""
    from grader.quiz.standing import standing
    from grader.trial import StartError

    with as_usage(StartError), contextlib.closing(standing(answers, wanted)) as tried:
        return next((full for full, right in tried if right), "")


def _not_yet(name: str | None, wanted: Sequence[str]) -> str:
    if len(wanted) == 1:
        return (f"{wanted[0]} is not solved yet: `why` asks about what is. For a hint: "
                f"python -m grader hint {wanted[0].split('.')[1]}")  # fmt: skip
    what = f"Nothing in {name}" if name else "Nothing"
    return f"{what} is solved yet: `why` asks about what is. Until then: python -m grader quiz"


def _question(full: str) -> Question | None:
    from grader.quiz.chapter import questions
    from grader.quiz.question import of_functions

    stem, name = full.split(".")
    found = [one for one in of_functions(questions(stem), [name]) if one.once_solved]
    return found[0] if found else None
