"""What came out of grading, as plain data: reports read this and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

State = Literal["solved", "wrong", "not started", "not run"]
DeviceState = Literal["run", "absent", "not asked"]
DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class CheckResult:
    """One check on one device."""

    check: str
    device: str
    verdict: str
    core: bool = False
    message: str = ""
    slip: str | None = None

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return self.verdict == "passed"


@dataclass(frozen=True)
class ExerciseResult:
    """One exercise of one submission: the checks that ran, of those that there are."""

    exercise: str
    points: Fraction
    total: int
    checks: tuple[CheckResult, ...]

    def on(self, device: str) -> list[CheckResult]:
        """Return the checks of one device."""
        return [check for check in self.checks if check.device == device]

    def state(self, device: str) -> State:
        """Say how far the exercise is: solved only if every check has passed."""
        ran = self.on(device)
        if not ran:
            return "not run"
        if all(check.verdict == "not started" for check in ran):
            return "not started"
        if not all(check.passed for check in ran):
            return "wrong"
        return "solved" if len(ran) == self.total else "not run"

    def earned(self, device: str) -> Fraction:
        """Share the points among the checks; nothing before every core check has passed."""
        ran = self.on(device)
        if any(check.core and not check.passed for check in ran):
            return Fraction(0)
        passed = sum(check.passed for check in ran)
        if passed == self.total:
            return self.points
        # to the hundredth, so that what a report prints adds up to its total
        return Fraction(round(self.points * passed / self.total * 100), 100)


@dataclass(frozen=True)
class SubmissionResult:
    """One submission; `problem` says why it could not be graded."""

    identity: str
    problem: str | None = None
    exercises: tuple[ExerciseResult, ...] = ()
    devices: tuple[str, ...] = ()

    def score(self, device: str) -> Fraction | None:
        """Add up the points of a device; None where it was not run."""
        if device not in self.devices:
            return None
        return sum((e.earned(device) for e in self.exercises), Fraction(0))

    @property
    def possible(self) -> Fraction:
        """The points of the exercises that were graded."""
        return sum((exercise.points for exercise in self.exercises), Fraction(0))

    def count(self, state: State, device: str) -> int:
        """Count the exercises in a state."""
        return sum(exercise.state(device) == state for exercise in self.exercises)


@dataclass(frozen=True)
class Run:
    """One run of the grader."""

    version: str
    torch: str
    seed: int
    devices: dict[str, DeviceState]
    submissions: tuple[SubmissionResult, ...] = field(default_factory=tuple)


def number(points: Fraction) -> float:
    """Write points as reports do: at most two decimals."""
    return round(float(points), 2)
