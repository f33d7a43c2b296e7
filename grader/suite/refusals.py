"""What an answer must refuse: misfits, each with the sentence of the stub that says so."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from grader.suite.compare import Finding, situation
from grader.suite.draw import Draw
from grader.suite.promises import Rule
from grader.trouble import HangsError, Unanswerable, words_of

# three shapes of four dimensions, twice: a sentence that names every number there is names none
MOST_NUMBERS = 24
BETWEEN = re.compile(r"(?<=\d)\s*[x\u00d7*]\s*(?=\d)", re.IGNORECASE)
EMPTY_BRACKETS = re.compile(r"\(\)|\[\]")
IN_BACKTICKS = re.compile(r"`([^`]+)`")
# not the 32 of float32, but the 5 of q5
NUMBER = re.compile(r"(?<![\d.])(?<!\w[^\W\d])(-?\d+)(?:\.0)?(?!\d|\.\d)")


def numbers_in(text: str) -> list[str]:
    """List the sizes that a sentence names, as people write them: 5x3, (2, 5, 3), n=5, 7-wide."""
    plain = unicodedata.normalize("NFKC", EMPTY_BRACKETS.sub(" 0 ", text))
    return [str(int(number)) for number in NUMBER.findall(BETWEEN.sub(" ", plain))]


@dataclass(frozen=True)
class Misfit:
    """A call that must be refused.

    Attributes:
        why: what does not fit, with the sizes: "`query` is 3 wide and `key` is 2 wide".
        call: makes the call.
        names: what the error must name instead of one of the sizes in `why`; empty: nothing, as
            where `why` tells of a tensor without dimensions, []. A KeyError names words: these, or
            those that stand in backticks in `why`.
    """

    why: str
    call: Callable[[Any, Draw], Any]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Refusal:
    """A sentence under Raises, and misfits that it speaks of."""

    exercise: str
    cites: str
    misfits: tuple[Misfit, ...]

    @property
    def error(self) -> type[Exception]:
        """The error that the sentence begins with."""
        return KeyError if self.cites.startswith("KeyError") else ValueError

    @property
    def id(self) -> str:
        """The refusal as it stands in a check's name."""
        words = re.findall(r"\w+", self.cites.partition(":")[2])
        return f"{self.exercise}-{'_'.join(words)}"


def refusal(exercise: str, cites: str, *misfits: tuple[Any, ...]) -> Refusal:
    """Write down a refusal; each misfit is (why, call) or (why, call, names).

    Raises:
        ValueError: the sentence is of a KeyError, and a misfit says no word that it has to name.
    """
    made = Refusal(exercise, cites, tuple(Misfit(*one) for one in misfits))
    if made.error is KeyError:
        return replace(made, misfits=tuple(map(_naming_words, made.misfits)))
    return made


def refused(
    exercise: str, inputs: Callable[[Draw], Iterable[Any]], **others: tuple[int, ...] | float
) -> Callable[[Any, Draw], Any]:
    """Make a misfit's call: a function's own inputs, but for some.

    Args:
        exercise: the function.
        inputs: draws what fits.
        others: by its place, as in `_0`, the shape in which an input is drawn instead, or a number.
    """

    def call(answer: Any, draw: Draw) -> Any:
        given = list(inputs(draw))
        for place, other in others.items():
            given[int(place[1:])] = draw(*other) if isinstance(other, tuple) else other
        return getattr(answer, exercise)(*given)

    return call


def _naming_words(misfit: Misfit) -> Misfit:
    names = tuple(IN_BACKTICKS.findall(misfit.why)) if misfit.names is None else misfit.names
    if not names and misfit.names is None:
        raise ValueError(
            f'the misfit "{misfit.why}" of a KeyError says no word that the error has to name: '
            'write (why, call, ("word",)), or the word in backticks in `why`'
        )
    return replace(misfit, names=names)


def in_any_words(refusals: Iterable[Refusal], *but: str) -> list[Refusal]:
    """Demand of refusals an error, and no sizes in what it says.

    Chapter 1 is not to fail for its words, and what later functions hand on to it speaks in them.

    Args:
        refusals: a chapter's.
        but: words by which those are known that name sizes after all, or whole names of functions.
    """
    return [
        one
        if one.exercise in but or any(word in one.cites for word in but)
        else replace(one, misfits=tuple(replace(misfit, names=()) for misfit in one.misfits))
        for one in refusals
    ]


def require_sizes(refusals: Iterable[Refusal]) -> None:
    """Demand of what does not fit that it is said with a size, or which words an error has to name.

    Raises:
        ValueError: any error would do.
    """
    for one in (misfit for refusal in refusals for misfit in refusal.misfits):
        if one.names is None and not EMPTY_BRACKETS.search(one.why) and not numbers_in(one.why):
            raise ValueError(
                f'the misfit "{one.why}" names no size, one of which the error has to name: write '
                "them down, or let the refusal be one `in_any_words`"
            )


def all_refused(answer: Any, draw: Draw, refusal: Refusal) -> None:
    """Demand that every misfit raises the error, with a sentence that says what does not fit.

    Raises:
        Finding: nothing was raised, another error was, or the sentence names nothing.
    """
    for misfit in refusal.misfits:
        with situation(misfit.why):
            _refused(answer, draw, misfit, refusal.error)


def _refused(answer: Any, draw: Draw, misfit: Misfit, error: type[Exception]) -> None:
    try:
        result = misfit.call(answer, draw)
    except (NotImplementedError, Unanswerable, HangsError):
        raise
    except error as problem:
        if answer.was_handed_on(problem):
            return
        kind, rule = ("word", None) if error is KeyError else ("sizes", Rule("refusals"))
        with situation("", rule):
            _names_enough(problem, misfit, kind)
    except Exception as problem:
        said = f"{type(problem).__name__}: {words_of(problem)}"
        raise Finding("refused badly", misfit.why, said, error.__name__, detail="type") from problem
    else:
        raise Finding("not refused", misfit.why, result, error.__name__)


def _names_enough(problem: Exception, misfit: Misfit, kind: str) -> None:
    lacking = _lacking(words_of(problem), misfit)
    if lacking:
        said = f"{type(problem).__name__}: {words_of(problem)}"
        raise Finding("refused badly", misfit.why, said, lacking, detail=kind) from None


def _lacking(said: str, misfit: Misfit) -> list[str]:
    """List what a sentence should have named and did not."""
    if EMPTY_BRACKETS.search(misfit.why):
        return []
    if misfit.names is not None:
        return [word for word in misfit.names if word not in said]
    wanted, named = numbers_in(misfit.why), numbers_in(said)
    if len(named) <= MOST_NUMBERS and set(wanted) & set(named):
        return []
    return list(dict.fromkeys(wanted))
