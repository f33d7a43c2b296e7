"""What is seen of an answer in a check, so far as it tells slips apart."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader import nested
from grader.coach import UNWRITTEN
from grader.coach.errors import OF_SIZES, error_slip, handed_on
from grader.costs import Cost
from grader.judging.outcome import Outcome
from grader.suite import tolerance
from grader.suite.compare import plain
from grader.trouble import words_of

LARGEST = 100_000
# no exercise returns so many tensors together
MOST_PARTS = 100
# nor so long a text
LONGEST = 1_000
TOO_MUCH = "more than is kept"


@dataclass(frozen=True)
class Evidence:
    """What was seen.

    Attributes:
        verdict: how the check ended.
        where: which comparison of the check it was.
        kind: of a finding, its kind, what was compared, and in which situation.
        actual: of a finding, what came; of a cost, the bytes of the largest tensor.
        error: of an error, its type, and the slip or the words that it shows.
        handed_on: whether one function of the answer refuses what another hands on to it.
    """

    verdict: str
    where: tuple[tuple[str, int], ...] = ()
    kind: tuple[str, str, str] | None = None
    actual: Any = None
    error: tuple[str, str] | None = None
    handed_on: bool = False

    @classmethod
    def of(cls, outcome: Outcome) -> Evidence:
        """Read it off an outcome."""
        found, error = outcome.finding, outcome.error
        if found is not None:
            kind = (found.kind, found.label, found.at)
            # who makes it on which line, and what else was made, says nothing of the slip
            cost = found.actual if isinstance(found.actual, Cost) else None
            actual = found.actual if cost is None else cost.largest
            return cls(outcome.verdict, outcome.where, kind, actual)
        shown = None if error is None else error_key(error, outcome.stem)
        handed = error is not None and handed_on(error, outcome.frames)
        return cls(outcome.verdict, outcome.where, error=shown, handed_on=handed)

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return self.verdict == "passed"


def let_go(outcome: Outcome) -> None:
    """Keep of an outcome whose message is written what tells slips apart, and nothing large.

    The judge has the outcomes of an answer for as long as it judges it, and their tracebacks hold
    all that was compared.
    """
    for problem in (outcome.error, outcome.finding):
        step: BaseException | None = problem
        while step is not None:
            step.__traceback__, step.__context__, step = None, None, step.__context__
    outcome.call = None
    found = outcome.finding
    if found is not None:
        found.expected = found.wrong = None
        few = _has_few_parts(found.actual)
        found.actual = nested.mapped(_Kept(), found.actual) if few else TOO_MUCH


def _has_few_parts(value: Any) -> bool:
    """Tell whether a value has few parts, containers and keys among them."""
    waiting, parts = [value], 0
    while waiting and parts <= MOST_PARTS:
        one = waiting.pop()
        parts += 1
        if isinstance(one, dict) and any(len(str(key)) > LONGEST for key in one):
            return False
        inner = list(one.values()) if isinstance(one, dict) else one
        if isinstance(inner, list | tuple):
            parts += len(inner) if len(inner) > MOST_PARTS else 0
            waiting += inner[:MOST_PARTS]
    return parts <= MOST_PARTS


class _Kept:
    """Keeps of what came only what is compared, and not more numbers in all than are looked at."""

    def __init__(self) -> None:
        self._numbers = 0

    def __call__(self, value: Any) -> Any:
        """Return what is kept of a value that holds no others."""
        if isinstance(value, nn.Module | np.ndarray):  # it would stay with all of its numbers
            return type(value).__name__
        if isinstance(value, list | tuple | dict):  # deeper than anybody looks
            return TOO_MUCH
        if isinstance(value, str):
            return value if len(value) <= LONGEST else TOO_MUCH
        if not isinstance(value, Tensor):
            return value
        try:
            if value.numel() > LARGEST:
                return value.to("meta")
            self._numbers += value.numel()
            # a small one may be a view of all that came with it
            return value.detach().clone() if self._numbers <= LARGEST else TOO_MUCH
        except Exception:  # as of one that belongs to a transformation that has ended
            return TOO_MUCH


def alike(slip: Evidence, answer: Evidence) -> bool:
    """Tell whether a slip and an answer show the same in one check."""
    if (slip.verdict, slip.where) != (answer.verdict, answer.where):
        return False
    if slip.kind != answer.kind or not same_error(slip.error, answer):
        return False
    if slip.kind is None:
        return True
    return equal_evidence(_written_as(slip.actual, answer.actual), answer.actual)


def _written_as(mine: Any, theirs: Any) -> Any:
    """Put for what a slip has not written what stands there in an answer."""
    both = isinstance(mine, Tensor) and isinstance(theirs, Tensor)
    if not both or mine.shape != theirs.shape or mine.dtype != torch.float32:
        return mine
    if mine.numel() > LARGEST:  # nothing is left of the numbers
        return mine
    own = plain(mine)
    return torch.where(own == UNWRITTEN, plain(theirs), own).to(mine.dtype)


def equal_evidence(mine: Any, theirs: Any) -> bool:
    """Tell whether two things that came out are the same, within the dtype's tolerance."""
    if isinstance(mine, Tensor) and isinstance(theirs, Tensor):
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            return False
        if mine.numel() > LARGEST:
            return False
        within = tolerance.of(mine.dtype)
        return torch.allclose(
            plain(mine), plain(theirs), within.relative, within.absolute, equal_nan=True
        )
    if type(mine) is not type(theirs):
        return False
    if isinstance(mine, str):
        return _stripped(mine) == _stripped(theirs)
    if isinstance(mine, tuple | list):
        return len(mine) == len(theirs) and all(map(equal_evidence, mine, theirs))
    if isinstance(mine, dict):
        return list(mine) == list(theirs) and all(equal_evidence(mine[k], theirs[k]) for k in mine)
    if isinstance(mine, float):
        return math.isclose(mine, theirs, rel_tol=1e-4, abs_tol=1e-4) or (
            mine != mine and theirs != theirs
        )
    try:
        return bool(mine == theirs)
    except Exception:
        return False


def same_error(slip: tuple[str, str] | None, answer: Evidence) -> bool:
    """Tell whether a slip and an answer stop alike: one function may refuse what torch would."""
    if slip == answer.error:
        return True
    return answer.handed_on and slip is not None and slip[0] != "ValueError" and slip[1] in OF_SIZES


def error_key(error: BaseException, stem: str) -> tuple[str, str]:
    """Return the type of an error, and the slip that it shows in a chapter, or else its words."""
    known = error_slip(error, stem=stem)
    # in which words a size is refused is everybody's own
    said = "" if isinstance(error, ValueError) else _stripped(words_of(error))
    return type(error).__name__, known.name if known else said


def _stripped(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)
