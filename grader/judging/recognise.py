"""Recognising slips: the answer's evidence against what each known slip gives on the same check.

A slip is named only if it, and no other known slip, explains what was seen. Where several give
the same in this check, the one that agrees with the answer in more of the exercise's other
checks is meant; where that leaves two, none is named.

That sizes were refused, or were not, says little: many slips and many answers do the same. A slip
that is told by nothing else has to agree with the answer in every core check that was seen, and
may fail no check that the answer has passed.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from grader import nested
from grader.answers.calls import Call
from grader.answers.protocol import Answers
from grader.chapters import Exercise
from grader.coach import Slip
from grader.coach.errors import HANDED_ON, REFUSED, error_slip
from grader.judging import recorded
from grader.judging.evidence import (
    Evidence,
    alike,
    equal_evidence,
    error_key,
    let_go,
    same_error,
)
from grader.judging.misfits import not_refused
from grader.judging.outcome import Outcome
from grader.judging.run import Setting, run, torch_as_it_was
from grader.suite.case import leaf
from grader.suite.check import Check
from grader.suite.compare import OUTPUT
from grader.suite.expected import Tape

# an answer that was held against so many slips in vain is wrong in a way of its own
PATIENCE = 60
MOST_SEARCHES = 3
MOST_REMEMBERED = 30_000


class SlipMemory:
    """What the checks expect and what the slips give, for all answers of one seed and device.

    Only as much is remembered as a batch can use; what was not used for longest goes first.
    """

    def __init__(self) -> None:
        self.tapes: dict[tuple[str, str], Tape] = {}
        self._seen: OrderedDict[tuple[str, str, str], Evidence] = OrderedDict()

    def get(self, key: tuple[str, str, str]) -> Evidence | None:
        """Return what a slip gave in a check, if that is known."""
        found = self._seen.get(key)
        if found is not None:
            self._seen.move_to_end(key)
        return found

    def keep(self, key: tuple[str, str, str], evidence: Evidence) -> None:
        """Remember what a slip gave in a check."""
        self._seen[key] = evidence
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
        known, shown = self.named.get(exercise.full), Evidence.of(seen)
        if known is not None:
            return known if alike(self.of_slip(check, known), shown) else None
        slips = self._to_try(exercise, seen, call)
        fitting = [s for s in slips if alike(self.of_slip(check, s), shown)]
        weak = _says_little(seen)
        fitting = [s for s in fitting if not self._contradicted(exercise, s, weak)]
        if len(fitting) > 1:
            fitting = self._most_alike(exercise, check, fitting)
        if len(fitting) != 1:
            return None
        self.named.setdefault(exercise.full, fitting[0])
        return fitting[0]

    def _to_try(self, exercise: Exercise, seen: Outcome, call: Call | None) -> Sequence[Slip]:
        """Return the slips that are worth a whole check."""
        every = exercise.task.slips
        if all(slip.answer is None for slip in every):
            return every  # what they give is written down
        tried = self.in_vain.get(exercise.full, 0)
        if tried >= PATIENCE:
            return ()
        slips = _with_the_same_output(every, seen, call) or every
        self.in_vain[exercise.full] = tried + max(len(slips), PATIENCE // MOST_SEARCHES)
        return slips

    def of_slip(self, check: Check, slip: Slip) -> Evidence:
        """Return what a slip gives in a check."""
        if slip.answer is None:
            return recorded.of_slip(check, slip.name)
        key = (check.stem, check.name, slip.name)
        known = self.memory.get(key) or self.own.get(key)
        if known is None:
            asked = self.world.asked
            outcome, _ = run(
                check, self.world, self.setting, {check.exercise: slip.wrong}, self.tape_of(check)
            )
            known = Evidence.of(outcome)
            # what called the answer as well is true of this answer only
            (self.memory if self.world.asked == asked else self.own).keep(key, known)
        return known

    def of_answer(self, check: Check) -> Outcome:
        """Return what the answer gives in a check."""
        key = (check.stem, check.name)
        if key not in self.seen:
            tape = self.tape_of(check)
            self.seen[key], _ = run(check, self.world, self.setting, self.replaced, tape)
            let_go(self.seen[key])
        return self.seen[key]

    def tape_of(self, check: Check) -> Tape:
        """Return what a check expects, as far as that is known."""
        key = (check.stem, check.name)
        if key not in self.memory.tapes:
            self.memory.tapes[key] = recorded.tape(check, self.setting.device) or Tape()
        return self.memory.tapes[key]

    def saw(self, check: Check, outcome: Outcome) -> None:
        """Remember what the answer gave in a check."""
        self.seen[check.stem, check.name] = outcome

    def _contradicted(self, exercise: Exercise, slip: Slip, weak: bool) -> bool:
        """Tell whether the answer has passed a core check that the slip fails.

        Where the evidence is weak, whether it has passed any check that the slip fails, or whether
        they differ in a core check, which are all run for that. If none was seen, or if the answer
        stops in all of them, nothing speaks for the slip.
        """
        seen = [one for one in exercise.checks if (one.stem, one.name) in self.seen]
        core = [one for one in exercise.checks if one.core] if weak else []
        if weak and not set(core) & set(seen):
            return True
        for check in dict.fromkeys((*seen, *core)):
            if not check.core and not (weak and check.telling):
                continue
            answer, wrong = Evidence.of(self.of_answer(check)), self.of_slip(check, slip)
            if (answer.passed and not wrong.passed) or (
                weak and check.core and not alike(wrong, answer)
            ):
                return True
        return weak and all(self.of_answer(check).verdict == "error" for check in core)

    def _most_alike(self, exercise: Exercise, check: Check, slips: list[Slip]) -> list[Slip]:
        for other in exercise.checks:
            if other.name == check.name or not other.telling:
                continue
            answer = Evidence.of(self.of_answer(other))
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
    if call is None or call.made or any(isinstance(v, nn.Module) for v in nested.flat(*call.args)):
        return ()
    if seen.error is None and (seen.finding is None or seen.finding.what != OUTPUT):
        return ()
    shown = Evidence.of(seen)
    return [slip for slip in slips if _gives(slip, call, seen, shown)]


def _gives(slip: Slip, call: Call, seen: Outcome, shown: Evidence) -> bool:
    if isinstance(slip.wrong, type):
        return False
    args = [nested.mapped(_anew, one) for one in call.args]
    try:
        with torch_as_it_was(), torch.random.fork_rng(devices=[]):
            result = slip.wrong(*args, **call.kwargs)
    except Exception as problem:
        return seen.error is not None and same_error(error_key(problem, seen.stem), shown)
    found = seen.finding
    try:
        return found is not None and equal_evidence(nested.at(result, found.path), found.actual)
    except LookupError:
        return False


def _anew(value: Any) -> Any:
    return leaf(value) if isinstance(value, Tensor) else copy.copy(value)


def _says_little(seen: Outcome) -> bool:
    """Tell whether all that was seen is that sizes were refused, or were not."""
    if seen.finding is not None:
        return not_refused(seen)
    known = error_slip(seen.error, seen.frames, seen.stem) if seen.error is not None else None
    return known is not None and known.name in (REFUSED.name, HANDED_ON.name)
