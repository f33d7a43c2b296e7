"""Recognising slips: the answer's evidence against what each known slip gives on the same check.

A slip is named only if it, and no other known slip, explains what was seen. Where several give
the same in this check, the one that agrees with the answer in more of the exercise's other
checks is meant; where that leaves two, none is named.

That sizes were refused, or were not, says little: many slips and many answers do the same. A slip
that is told by nothing else has to agree with the answer in every core check that was seen.
"""

from __future__ import annotations

import copy
import math
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from grader.answers.door import Answers, Call
from grader.answers.trouble import words_of
from grader.chapters import Exercise
from grader.coach import Slip
from grader.coach.errors import error_slip
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run, torch_as_it_was
from grader.suite import tolerance
from grader.suite.case import leaf
from grader.suite.check import Check
from grader.suite.compare import plain
from grader.suite.expected import Tape

# an answer that was held against so many slips in vain is wrong in a way of its own
PATIENCE = 60
MOST_SEARCHES = 3
LARGEST = 100_000
OUTPUT = "the output"
MOST_REMEMBERED = 30_000


class SlipMemory:
    """What the checks expect and what the slips give: the same for every answer of one seed.

    Only as much is remembered as a batch can use; what was not used for longest goes first.
    """

    def __init__(self) -> None:
        self._of: tuple[int, str] | None = None
        self.tapes: dict[tuple[str, str], Tape] = {}
        self._seen: OrderedDict[tuple[str, str, str], Outcome] = OrderedDict()

    def of(self, seed: int, device: str) -> SlipMemory:
        """Return the memory for a seed and a device; that of another one is forgotten."""
        if self._of != (seed, device):
            self._seen.clear()
            self.tapes.clear()
            self._of = seed, device
        return self

    def get(self, key: tuple[str, str, str]) -> Outcome | None:
        """Return what a slip gave in a check, if that is known."""
        found = self._seen.get(key)
        if found is not None:
            self._seen.move_to_end(key)
        return found

    def keep(self, key: tuple[str, str, str], outcome: Outcome) -> None:
        """Remember what a slip gave in a check."""
        self._seen[key] = outcome
        if len(self._seen) > MOST_REMEMBERED:
            self._seen.popitem(last=False)


@dataclass
class Recogniser:
    """Runs slips beside one answer, and remembers what they gave.

    Attributes:
        world: the answer.
        setting: device and seed, the same for the answer and the slips.
        replaced: what stands in for the answer itself, when a slip is being proved.
        memory: what the slips gave, by check.
        seen: what the answer gave, by check.
        own: what slips gave in checks that called the answer besides, by check.
        named: the slip that an earlier check singled out, for each exercise: that is to be mended
            first, and no other is looked for.
        in_vain: how many slips of an exercise have been tried in whole checks.
    """

    world: Answers
    setting: Setting
    replaced: dict[str, Callable[..., Any]] = field(default_factory=dict)
    memory: SlipMemory = field(default_factory=SlipMemory)
    seen: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    own: SlipMemory = field(default_factory=SlipMemory)
    named: dict[str, Slip] = field(default_factory=dict)
    in_vain: dict[str, int] = field(default_factory=dict)

    def recognise(
        self, exercise: Exercise, check: Check, seen: Outcome, call: Call | None = None
    ) -> Slip | None:
        """Return the one known slip that explains what was seen, if there is one.

        Args:
            exercise: what the check belongs to.
            check: the check that failed.
            seen: what came of it.
            call: the last call of the exercise in it.
        """
        known = self.named.get(exercise.full)
        if known is not None:
            return known if alike(self.of_slip(check, known), seen) else None
        tried = self.in_vain.get(exercise.full, 0)
        if tried >= PATIENCE:
            return None
        slips = _with_the_same_output(exercise.task.slips, seen, call) or exercise.task.slips
        self.in_vain[exercise.full] = tried + max(len(slips), PATIENCE // MOST_SEARCHES)
        fitting = [s for s in slips if alike(self.of_slip(check, s), seen)]
        weak = _says_little(seen)
        fitting = [s for s in fitting if not self._contradicted(exercise, s, weak)]
        if len(fitting) > 1:
            fitting = self._most_alike(exercise, check, fitting)
        if len(fitting) != 1:
            return None
        self.named.setdefault(exercise.full, fitting[0])
        return fitting[0]

    def of_slip(self, check: Check, slip: Slip) -> Outcome:
        """Return what a slip gives in a check."""
        key = (check.stem, check.name, slip.name)
        known = self.memory.get(key) or self.own.get(key)
        if known is None:
            asked = self.world.asked
            known, _ = run(
                check, self.world, self.setting, {check.exercise: slip.wrong}, self.tape_of(check)
            )
            known.forget_frames()
            # what called the answer as well is true of this answer only
            (self.memory if self.world.asked == asked else self.own).keep(key, known)
        return known

    def of_answer(self, check: Check) -> Outcome:
        """Return what the answer gives in a check."""
        key = (check.stem, check.name)
        if key not in self.seen:
            tape = self.tape_of(check)
            self.seen[key], _ = run(check, self.world, self.setting, self.replaced, tape)
        return self.seen[key]

    def tape_of(self, check: Check) -> Tape:
        """Return what a check expects, as far as that is known."""
        return self.memory.tapes.setdefault((check.stem, check.name), Tape())

    def saw(self, check: Check, outcome: Outcome) -> None:
        """Remember what the answer gave in a check."""
        self.seen[check.stem, check.name] = outcome

    def _contradicted(self, exercise: Exercise, slip: Slip, weak: bool) -> bool:
        """Tell whether the answer has passed a core check that the slip fails.

        Where the evidence is weak, whether they differ in any core check that was seen.
        """
        for check in exercise.checks:
            if not check.core or (check.stem, check.name) not in self.seen:
                continue
            answer, wrong = self.of_answer(check), self.of_slip(check, slip)
            if (answer.passed and not wrong.passed) or (weak and not alike(wrong, answer)):
                return True
        return False

    def _most_alike(self, exercise: Exercise, check: Check, slips: list[Slip]) -> list[Slip]:
        for other in exercise.checks:
            if other.name == check.name or not other.telling:
                continue
            answer = self.of_answer(other)
            same = [s for s in slips if alike(self.of_slip(other, s), answer)]
            if same and len(same) < len(slips):
                slips = same
            if len(slips) == 1:
                break
        return slips


def _with_the_same_output(
    slips: Sequence[Slip], seen: Outcome, call: Call | None
) -> Sequence[Slip]:
    """Return the slips that give what came out, when they are called alike.

    That is quicker than a whole check, and rules most of them out.
    """
    if call is None or any(isinstance(one, nn.Module) for one in call.args) or call.made:
        return ()
    if seen.error is None and (seen.finding is None or seen.finding.label != OUTPUT):
        return ()
    return [slip for slip in slips if _gives(slip, call, seen)]


def _gives(slip: Slip, call: Call, seen: Outcome) -> bool:
    if isinstance(slip.wrong, type):
        return False
    args = [leaf(one) if isinstance(one, Tensor) else copy.copy(one) for one in call.args]
    try:
        with torch_as_it_was(), torch.random.fork_rng(devices=[]):
            result = slip.wrong(*args, **call.kwargs)
    except Exception as problem:
        return seen.error is not None and _error_key(problem) == _error_key(seen.error)
    return seen.finding is not None and equal_evidence(result, seen.finding.actual)


def _says_little(seen: Outcome) -> bool:
    """Tell whether all that was seen is that sizes were refused, or were not."""
    if seen.finding is not None:
        return seen.finding.kind in ("not refused", "refused badly")
    known = error_slip(seen.error, seen.frames) if seen.error is not None else None
    return known is not None and known.name == "refuses_what_fits"


def alike(slip: Outcome, answer: Outcome) -> bool:
    """Tell whether two outcomes of one check show the same."""
    if slip.verdict != answer.verdict or slip.where != answer.where:
        return False
    if slip.finding is not None and answer.finding is not None:
        mine, theirs = slip.finding, answer.finding
        return (
            (mine.kind, mine.label, mine.at) == (theirs.kind, theirs.label, theirs.at)
            and equal_evidence(mine.actual, theirs.actual)
        )  # fmt: skip
    if slip.error is not None and answer.error is not None:
        return _error_key(slip.error) == _error_key(answer.error)
    return slip.passed and answer.passed


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
    if isinstance(mine, float):
        return math.isclose(mine, theirs, rel_tol=1e-4, abs_tol=1e-4) or (
            mine != mine and theirs != theirs
        )
    try:
        return bool(mine == theirs)
    except Exception:
        return False


def _error_key(error: BaseException) -> tuple[str, str]:
    known = error_slip(error)
    return type(error).__name__, known.name if known else _stripped(words_of(error))


def _stripped(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)
