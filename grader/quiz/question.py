"""A question, whose numbers are drawn anew for every seed; and how a chapter declares its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from types import ModuleType

from grader.quiz.asked import Asked

Make = Callable[[Random], Asked]
# a draw may make a mistake's value equal to the answer: then it is drawn again
DRAWS = 200


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        name: what it is called in its chapter.
        about: the function that it belongs to.
        once_solved: whether `why` asks it, and not `quiz`.
        asked: gives it for a seed.
    """

    name: str
    about: str
    once_solved: bool
    asked: Callable[[int], Asked]


def asks(about: str) -> Callable[[Make], Question]:
    """Declare a question of the quiz about a function."""
    return lambda make: _question(make, about, False)


def asks_why(about: str) -> Callable[[Make], Question]:
    """Declare the question that `why` asks about a function."""
    return lambda make: _question(make, about, True)


def _question(make: Make, about: str, once_solved: bool) -> Question:
    name = make.__name__

    def asked(seed: int) -> Asked:
        for again in range(DRAWS):
            drawn = make(Random(f"{seed}/{name}/{again}"))
            if drawn.is_clear:
                return drawn
        raise ValueError(f"{name}: in every draw two values are the same, the last was {drawn}")

    return Question(name, about, once_solved, asked)


def questions_in(module: ModuleType) -> list[Question]:
    """List the questions of a chapter in the order of its file."""
    return [value for value in vars(module).values() if isinstance(value, Question)]


def of_functions(questions: Iterable[Question], names: Iterable[str]) -> list[Question]:
    """Keep the questions about some functions."""
    wanted = set(names)
    return [question for question in questions if question.about in wanted]
