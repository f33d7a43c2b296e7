"""Calling an answer in other ways, where no known slip explains what it gave.

What comes of that tells what the mistake hangs on: on chance, on the order of the arguments, on the
batch; and so does which checks have passed before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from grader import nested
from grader.answers.calls import Call
from grader.answers.protocol import Answers
from grader.chapters import Exercise
from grader.coach.common import (
    NARROWED,
    OTHER_ORDER,
    RANDOM,
    TOGETHER,
    Common,
    common_slip,
)
from grader.coach.relations import SQUEEZED, relation
from grader.judging.evidence import Evidence, alike, equal_evidence
from grader.judging.outcome import Outcome, is_time_limit
from grader.judging.run import Setting, run, torch_as_it_was
from grader.stubs.pristine import NoStubsError, parameters
from grader.suite.check import Check
from grader.suite.compare import OUTPUT, Finding
from grader.suite.expected import Tape
from grader.suite.promises import Rule
from grader.trouble import Diverged, Lost, NurseryError

# findings that no chance has a part in
NEVER_RANDOM = ("not refused", "refused badly", "device", "dtype", "type", "forbidden")
# findings that are looked into
OF_VALUES = ("value", "shape")
# of so many arguments every order is tried
MOST_ARGUMENTS = 4
# of a batch so many are tried alone
MOST_SEQUENCES = 6


@dataclass
class OtherCalls:
    """Calls one answer in other ways.

    Attributes:
        world: the answer.
        setting: device and seed.
        replaced: what stands in for the answer itself, when a slip is being proved.
        tried: the exercises of which it was tried whether they are random.
        ordered: of which it was tried whether their arguments stand in another order.
    """

    world: Answers
    setting: Setting
    replaced: Mapping[str, Callable[..., Any]]
    tried: set[str] = field(default_factory=set)
    ordered: dict[str, bool] = field(default_factory=dict)

    def tell(
        self, exercise: Exercise, check: Check, seen: Outcome, call: Call | None, tape: Tape
    ) -> Common | None:
        """Return what comes to light, if anything does.

        Args:
            exercise: what the check belongs to.
            check: the check that failed.
            seen: what came of it.
            call: the last call of the exercise in it.
            tape: what the check expects.
        """
        found = seen.finding
        if found is not None and common_slip(found, exercise.stem) is not None:
            return None
        if found is not None and self._is_random(exercise, check, seen, found, tape):
            return RANDOM
        if self.in_another_order(exercise, seen, call):
            return OTHER_ORDER
        if (
            call is not None
            and call.made is None
            and found is not None
            and found.what == OUTPUT
            and not (found.kind == "shape" and relation(found.actual, found.expected) == SQUEEZED)
            and self._is_right_alone(exercise, found, call)
        ):
            return TOGETHER
        return None

    def in_another_order(self, exercise: Exercise, seen: Outcome, call: Call | None) -> bool:
        """Tell whether the answer takes the arguments of a call in another order than the stub."""
        if call is None or call.made is not None:
            return False
        if exercise.full not in self.ordered:
            self.ordered[exercise.full] = self._is_right_by_name(exercise, seen, call)
        return self.ordered[exercise.full]

    def _is_random(
        self, exercise: Exercise, check: Check, seen: Outcome, found: Finding, tape: Tape
    ) -> bool:
        """Tell whether the same check ends otherwise from another state of torch's generator.

        It is tried once for an exercise, at the first check whose values nothing explains.
        """
        if found.kind in NEVER_RANDOM or exercise.full in self.tried:
            return False
        self.tried.add(exercise.full)
        again, _ = run(check, self.world, self.setting, self.replaced, tape, "another start")
        other = again.finding
        if found.kind == "shape" and other is not None and other.kind == "shape":
            # what has too many rows may give memory that nobody has written
            return _shape(found.actual) != _shape(other.actual)
        return not alike(Evidence.of(again), Evidence.of(seen))

    def _is_right_by_name(self, exercise: Exercise, seen: Outcome, call: Call) -> bool:
        """Tell whether the call comes out right by its arguments' names, and in another order."""
        found = seen.finding
        if call.kwargs or len(call.args) > MOST_ARGUMENTS:
            return False
        if found is not None and found.kind not in OF_VALUES:
            return False
        try:
            names = parameters(exercise.stem, exercise.name)
        except (KeyError, NoStubsError):
            return False
        path = () if found is None else found.path
        named = dict(zip(names, map(_anew, call.args), strict=False))
        right = _part(self._call(exercise, (), named), path)
        if found is not None and not _equals(right, found.expected):
            return False
        _, *others = itertools.permutations(call.args)
        return isinstance(right, Tensor) and any(
            _equals(_part(self._call(exercise, map(_anew, order), {}), path), right)
            for order in others
        )

    def _is_right_alone(self, exercise: Exercise, found: Finding, call: Call) -> bool:
        """Tell whether each sequence of a batch comes out right by itself."""
        want = found.expected
        first = next((v for v in nested.flat(*call.args) if isinstance(v, Tensor)), None)
        if not isinstance(want, Tensor) or first is None:
            return False
        most = min(first.dim(), want.dim()) - 2
        return any(
            self._right_for_each(exercise, call, found, first.dim() - dims, dims)
            for dims in range(most, 0, -1)
        )

    def _right_for_each(
        self, exercise: Exercise, call: Call, found: Finding, inner: int, dims: int
    ) -> bool:
        """Tell whether what comes is right for each sequence, if so many dimensions are batch."""
        want = found.expected
        places = list(itertools.product(*map(range, want.shape[:dims])))
        for place in places[:MOST_SEQUENCES]:
            args = [_of_sequence(one, place, inner) for one in call.args]
            kwargs = {name: _of_sequence(one, place, inner) for name, one in call.kwargs.items()}
            if not _equals(_part(self._call(exercise, args, kwargs), found.path), want[place]):
                return False
        return len(places) > 1

    def _call(self, exercise: Exercise, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call the answer; None stands for an error, too."""
        function = self.replaced.get(exercise.name)
        function = function or self.world.function(exercise.stem, exercise.name)
        try:
            with torch_as_it_was(), torch.random.fork_rng(devices=[]), self.world.active():
                return function(*args, **kwargs)
        except (KeyboardInterrupt, Lost, NurseryError, Diverged):
            raise
        except BaseException as problem:
            if is_time_limit(problem):
                raise
            return None


def _shape(value: Any) -> Any:
    return getattr(value, "shape", None)


def narrowed(
    exercise: Exercise, check: Check, seen: Outcome, before: Mapping[tuple[str, str], Outcome]
) -> Common | None:
    """Return what a failure hangs on, where all checks of plain values have passed before it."""
    found = seen.finding
    if found is not None and (
        found.kind not in OF_VALUES or common_slip(found, exercise.stem) is not None
    ):
        return None
    rule = check.cites[0] if found is None or found.cites is None else found.cites
    values = [before.get((one.stem, one.name)) for one in exercise.checks if one.about == "values"]
    if not isinstance(rule, Rule) or not all(one is not None and one.passed for one in values):
        return None
    if rule.name == "dtype" and found is not None and found.kind != "value":
        return None  # no dtype makes another shape
    return NARROWED.get(rule.name)


def _equals(got: Any, want: Any) -> bool:
    if not isinstance(got, Tensor) or not isinstance(want, Tensor):
        return False
    return equal_evidence(got, want.to(got.dtype))


def _part(value: Any, path: nested.Path) -> Any:
    """Return the part of what came that is looked at; None if there is none."""
    try:
        return nested.at(value, path)
    except LookupError:
        return None


def _anew(value: Any) -> Any:
    """Make an input again, as it was."""
    return nested.mapped(_again, value)


def _again(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def _of_sequence(value: Any, place: tuple[int, ...], inner: int) -> Any:
    """Take a sequence out of an input, of which the last `inner` dimensions are no batch."""
    return nested.mapped(lambda one: _sequence(one, place, inner), value)


def _sequence(value: Any, place: tuple[int, ...], inner: int) -> Any:
    if not isinstance(value, Tensor) or value.dim() <= max(inner, 2):
        return value
    sizes = value.shape[:-inner]
    own = place[len(place) - len(sizes) :] if len(sizes) <= len(place) else place
    return value[tuple(min(at, size - 1) for at, size in zip(own, sizes, strict=False))].detach()
