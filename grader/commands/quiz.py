"""The quiz: questions to be answered by hand or in the head; nothing is scored or kept."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from grader.commands.usage import answers_folder, as_usage

if TYPE_CHECKING:
    from grader.quiz.question import Question

HELP = "questions on a chapter, with answers and reasons; never scored"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the name of a chapter or function, and the seed."""
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="ex03_masking, or causal_mask (default: the chapter you are in)",
    )
    parser.add_argument("--seed", type=int, metavar="N",
                        help="the same numbers as before (default: new ones)")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Ask the questions of a chapter, or those about a function."""
    from grader.quiz.chapter import SEEDS
    from grader.quiz.talk import Sitting, SittingEnded

    stem, found = _questions(given.name, answers_folder(given))
    seed = Random().randrange(SEEDS) if given.seed is None else given.seed % SEEDS
    name = given.name or stem
    if not found:
        print(f"There are no questions on {name}.")
        return 0
    talk = Sitting(seed)
    count = f"{len(found)} question{'s' * (len(found) > 1)}"
    talk.say(f"{count} on {name}. Nothing is scored or kept. Enter shows the answer, q ends.")
    try:
        for place, question in enumerate(found, 1):
            talk.ask(question, f"Question {place} of {len(found)}: {question.about}")
    except (SittingEnded, KeyboardInterrupt):
        print(f"Ended. The same again: python -m grader quiz {name} --seed {seed}")
        return 0
    talk.say(f"That was {name}. The same again, or without --seed with other numbers:")
    print(f"  python -m grader quiz {name} --seed {seed}")
    return 0


def _questions(name: str | None, answers: Path) -> tuple[str, list[Question]]:
    """Find the chapter that is meant, and the questions."""
    from grader.naming import select
    from grader.quiz.chapter import questions
    from grader.quiz.question import of_functions
    from grader.stubs import NoStubsError, Pristine

    with as_usage(NoStubsError):
        names = Pristine().names()
        wanted = select(name or _chapter(answers, list(names)), names)
    stem = wanted[0].split(".")[0]
    about = [full.split(".")[1] for full in wanted if full.startswith(f"{stem}.")]
    return stem, [one for one in of_functions(questions(stem), about) if not one.once_solved]


def _chapter(answers: Path, stems: list[str]) -> str:
    """Return the chapter of the first function that is not right yet; of a solved kit any."""
    from grader.quiz.standing import standing
    from grader.trial import StartError

    print("Looking for the chapter that you are in ...", flush=True)
    with as_usage(StartError), contextlib.closing(standing(answers)) as tried:
        first = next((full for full, right in tried if not right), "")
    return first.split(".")[0] or Random().choice(stems)
