"""The coach: what each exercise is about, its hints, and the slips that people make.

A chapter's coach is one file beside this one. It declares tasks and, under each, known slips:
wrong answers with a name, written as the function that a student would have written. The
docstring of a slip is the sentence that the student reads. ERRORS and FINDINGS, where a file has
them, are slips that its chapter alone knows by an error's words or by the kind of difference.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, TypeVar

Wrong = TypeVar("Wrong", bound=Callable[..., Any])
# what a slip gives where an answer gives memory that nobody has written, so that anything fits
UNWRITTEN = 2.0**126


@dataclass(frozen=True)
class Slip:
    """A wrong answer with a name.

    Attributes:
        name: as reports name it.
        says: the sentence that the student reads.
        read: where to read on, a sentence that the student has.
        answer: the wrong answer; None in a students' pack, where what it gives is written down.
    """

    name: str
    says: str
    read: str
    answer: Callable[..., Any] | None = field(default=None, repr=False)

    @property
    def wrong(self) -> Callable[..., Any]:
        """The wrong answer.

        Raises:
            LookupError: this is a students' pack.
        """
        if self.answer is None:
            raise LookupError(f"this pack holds no answer that is wrong like {self.name}")
        return self.answer


@dataclass
class Task:
    """What the coach knows of one exercise.

    Attributes:
        name: the function or class to write.
        points: its weight in the score.
        difficulty: 1 to 5, as the docstring says it.
        minutes: how long it may take, as the docstring says it.
        hints: which fact is needed; how to go about it; which operation, with which shape.
    """

    name: str
    points: int
    difficulty: int
    minutes: int
    hints: tuple[str, str, str]
    slips: list[Slip] = field(default_factory=list)

    def slip(self, read: str) -> Callable[[Wrong], Wrong]:
        """Declare a wrong answer; `read` says where to read on."""
        if not isinstance(read, str):
            name = getattr(read, "__name__", "a slip")
            raise ValueError(f"write `@{self.name}.slip(PLACE)` above {name}: where to read on")

        def declare(wrong: Wrong) -> Wrong:
            says = " ".join((inspect.getdoc(wrong) or "").split())
            if not says:
                name = wrong.__name__
                raise ValueError(f"the slip {name} has no docstring, the sentence for the student")
            self.slips.append(Slip(wrong.__name__, says, read, wrong))
            return wrong

        return declare

    def refusing(self, fits: Callable[..., None]) -> Callable[[str], Callable[[Wrong], Wrong]]:
        """Return a `slip` for wrong answers that refuse what does not fit, as right ones do.

        Args:
            fits: takes what the exercise takes, with its defaults, and raises what it has to.
        """
        takes = inspect.signature(fits)

        def slip(read: str) -> Callable[[Wrong], Wrong]:
            def declare(wrong: Wrong) -> Wrong:
                @functools.wraps(wrong)
                def refuses(*args: Any, **kwargs: Any) -> Any:
                    given = takes.bind(*args, **kwargs)
                    given.apply_defaults()
                    fits(*given.args, **given.kwargs)
                    return wrong(*given.args, **given.kwargs)

                self.slip(read)(refuses)
                return wrong

            return declare

        return slip


def card(word: str) -> str:
    """Say where the card of a word is, as a place to read on."""
    return f"exercises/CARDS.md: python -m grader hint {word}"


def tasks_in(module: ModuleType) -> list[Task]:
    """List the tasks of a chapter's coach in the order of its file."""
    return [value for value in vars(module).values() if isinstance(value, Task)]


@functools.cache
def declared(stem: str, name: str) -> tuple[Any, ...]:
    """Return what a chapter's coach declares by a name, besides its tasks; nothing for no chapter.

    Args:
        stem: the chapter.
        name: ERRORS, what an error shows there, or FINDINGS, what a difference shows there.
    """
    return tuple(getattr(importlib.import_module(f"{__name__}.{stem}"), name, ())) if stem else ()
