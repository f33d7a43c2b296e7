"""What came out of grading, as plain data: reports read this and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

# to polish: right in its values, shapes and gradients, and not yet in the finer points
State = Literal["solved", "to polish", "wrong", "not started", "not run"]
DeviceState = Literal["run", "absent", "not asked"]
Messages = Literal["all", "first sentences", "none"]
# whose earlier chapters later ones were graded over
Earlier = Literal["own", "reference"]
# whose points an exercise brings: the seven chapters', or those of what lies beyond them
Track = Literal["core", "beyond"]
# which every report has a word on; others only where they were asked for
DEVICES = ("cpu", "cuda")
# the verdict on a check that needs what its device does not have
NOT_RUN = "not run"
TRACKS: tuple[Track, ...] = ("core", "beyond")
MESSAGES: tuple[Messages, ...] = ("all", "first sentences", "none")
# of the seven chapters
MAXIMUM = Fraction(100)


@dataclass(frozen=True, slots=True)  # a large class has millions
class CheckResult:
    """One check on one device.

    Attributes:
        check: its name.
        device: where it ran.
        verdict: what came of it.
        core: whether nothing of the exercise is earned before it passes.
        message: what the student reads.
        slip: the name of the mistake, if it is known.
        because: what alone makes it fail, if that lies earlier.
        follows: whether it was tried, and passes, with what it fails because of put right.
        about: what it is about, as the suite says it; "devices" is counted in reports.
    """

    check: str
    device: str
    verdict: str
    core: bool = False
    message: str = ""
    slip: str | None = None
    because: tuple[str, ...] = ()
    about: str = ""
    follows: bool = False

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return self.verdict == "passed"

    @property
    def of_devices(self) -> bool:
        """Whether it is the check that tells how an exercise does on a GPU."""
        return self.about == "devices"


@dataclass(frozen=True, slots=True)
class ExerciseResult:
    """One exercise of one submission.

    Attributes:
        exercise: its full name.
        points: what it is worth.
        total: how many checks there are.
        checks: those that ran.
        kept: which part of what it earns counts; less than 1 if it is late.
        credit: which part counts of what only earlier functions have cost it.
        track: whose points it brings.
    """

    exercise: str
    points: Fraction
    total: int
    checks: tuple[CheckResult, ...]
    kept: Fraction = Fraction(1)
    credit: Fraction = Fraction(0)
    track: Track = "core"

    @property
    def stem(self) -> str:
        """The chapter."""
        return self.exercise.partition(".")[0]

    def on(self, device: str) -> list[CheckResult]:
        """Return the checks of one device that were run there."""
        return [
            check for check in self.checks if check.device == device and check.verdict != NOT_RUN
        ]

    def due(self, device: str) -> int:
        """Count the checks that there are on a device: one that it cannot do is none."""
        left_out = (c for c in self.checks if c.device == device and c.verdict == NOT_RUN)
        return self.total - sum(1 for _ in left_out)

    def state(self, device: str) -> State:
        """Say how far the exercise is: solved only if every check has passed."""
        ran = self.on(device)
        if not ran:
            return "not run"
        if all(check.verdict == "not started" for check in ran):
            return "not started"
        if not all(check.passed for check in ran):
            return "to polish" if self.is_right(device) else "wrong"
        return "solved" if len(ran) == self.due(device) else "not run"

    def is_right(self, device: str) -> bool:
        """Tell whether every core check that ran has passed, and some did run."""
        core = [check for check in self.on(device) if check.core]
        return bool(core) and all(check.passed for check in core)

    def to_mend(self, device: str) -> int:
        """Count the checks that fail."""
        return sum(not check.passed for check in self.on(device))

    def waits_for(self, device: str) -> tuple[str, ...]:
        """Name the earlier functions or files that alone keep this one from being solved."""
        failed = [check for check in self.on(device) if not check.passed]
        if not failed or not all(check.because for check in failed):
            return ()
        return tuple(dict.fromkeys(name for check in failed for name in check.because))

    def because(self, device: str) -> tuple[str, ...]:
        """Name the earlier functions or files that checks of this one fail because of."""
        named = (name for check in self.on(device) for name in check.because)
        return tuple(dict.fromkeys(named))

    def earned(self, device: str) -> Fraction:
        """Share the points among the checks; nothing before every core check has passed."""
        return self._counted(device, self.credit)

    def follow_through(self, device: str) -> Fraction:
        """Share the points as if the earlier functions were right that make checks of it fail.

        It is as late as it is: what earlier slips have cost is all that is between this and what
        is earned.
        """
        return self._counted(device, Fraction(1))

    def _counted(self, device: str, credit: Fraction) -> Fraction:
        ran, due = self.on(device), self.due(device)
        own = self._shared([(check.core, check.passed) for check in ran], due)
        if self.kept == 1 and not credit:
            return own
        right = [(check.core, check.passed or check.follows) for check in ran]
        counted = own + credit * (self._shared(right, due) - own)
        exact = self.kept == credit == 1
        return counted if exact else Fraction(round(self.kept * counted * 100), 100)

    def _shared(self, ran: Sequence[tuple[bool, bool]], due: int) -> Fraction:
        if not ran or any(core and not passed for core, passed in ran):
            return Fraction(0)  # no points for what holds by accident
        passed = sum(passed for _, passed in ran)
        if passed == due:
            return self.points
        # to the hundredth, so that what a report prints adds up to its total
        return Fraction(round(self.points * passed / due * 100), 100)


def counting(results: Sequence[ExerciseResult], device: str) -> list[ExerciseResult]:
    """Leave out the chapters beyond the seven that were not run."""
    ran = {result.stem for result in results if result.on(device)}
    return [result for result in results if result.track == "core" or result.stem in ran]


@dataclass(frozen=True)
class SubmissionResult:
    """One submission.

    Attributes:
        identity: its name.
        problem: why it could not be graded, if so.
        exercises: what came of them.
        devices: those that it was run on.
        seed: of its inputs, where that is not the run's.
        notes: of files that count under another name, or do not count.
        unused: the names of files that have no part in the verdict.
        came_as: the name of the folder or the archive that it is, or those of its loose files.
        shapes: numbers for how each function is written, by which alike ones are found.
        out_of: what the score would be out of, where nothing could be graded.
    """

    identity: str
    problem: str | None = None
    exercises: tuple[ExerciseResult, ...] = ()
    devices: tuple[str, ...] = ()
    seed: int | None = None
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    came_as: tuple[str, ...] = ()
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    out_of: Fraction = MAXIMUM

    def of(self, track: Track) -> tuple[ExerciseResult, ...]:
        """Return the exercises of a track."""
        return tuple(exercise for exercise in self.exercises if exercise.track == track)

    @property
    def told(self) -> tuple[ExerciseResult, ...]:
        """The exercises that are counted: beyond the seven chapters only where none of these is."""
        return self.of("core") or self.of("beyond")

    def score(self, device: str) -> Fraction | None:
        """Add up the points of a device; None where it was not run."""
        core = (e.earned(device) for e in self.of("core"))
        return sum(core, Fraction(0)) if device in self.devices else None

    def beyond(self, device: str) -> Fraction | None:
        """Add up the points beyond the seven chapters; None where nothing of it was run."""
        further = self.of("beyond") if device in self.devices else ()
        return sum((e.earned(device) for e in further), Fraction(0)) if further else None

    def follow_through(self, device: str) -> Fraction | None:
        """Add up the points as if an earlier slip cost nothing in later functions."""
        core = (e.follow_through(device) for e in self.of("core"))
        return sum(core, Fraction(0)) if device in self.devices else None

    @property
    def maximum(self) -> Fraction:
        """What the score is out of, beyond the seven apart, also where nothing could be graded."""
        possible = sum((exercise.points for exercise in self.of("core")), Fraction(0))
        return possible if self.exercises else self.out_of

    @property
    def counted(self) -> str:
        """The device whose score counts where only one number fits: the CPU, if it was run."""
        return "cpu" if "cpu" in self.devices or not self.devices else self.devices[0]

    def reported(self, device: str) -> Fraction | None:
        """The score of a device as reports give it: 0 on the CPU where grading failed."""
        if self.problem:
            return Fraction(0) if device == "cpu" else None
        return self.score(device)

    def reported_follow_through(self, device: str) -> Fraction | None:
        """The score as if an earlier slip cost nothing later, as reports give it."""
        return self.reported(device) if self.problem else self.follow_through(device)

    @property
    def final(self) -> Fraction:
        """The one number, where only one fits."""
        return self.reported(self.counted) or Fraction(0)

    @property
    def device_ready(self) -> tuple[int, int]:
        """How many checks of devices passed, of how many that ran: without a GPU, as dry runs."""
        ran = [c for e in self.told for c in e.on(self.counted) if c.of_devices]
        return sum(check.passed for check in ran), len(ran)

    def count(self, state: State, device: str) -> int:
        """Count the exercises in a state."""
        return sum(exercise.state(device) == state for exercise in self.told)


@dataclass(frozen=True)
class Run:
    """One run of the grader.

    Attributes:
        version: of the kit.
        torch: its version.
        seed: of the inputs.
        devices: what became of each.
        submissions: what came of them.
        isolation: how they were shut in.
        pass_mark: percent of the points that are enough; None: none is set.
        messages: what of them students see.
        columns: names for columns of the csv report.
        earlier: whose earlier chapters later ones were graded over.
        reasons: why a device that is there was not run.
        passed_over: the names of what lay beside submissions and is nobody's.
        absent: who of the course has handed in nothing; None: nobody has said who is in it.
    """

    version: str
    torch: str
    seed: int
    devices: dict[str, DeviceState]
    submissions: tuple[SubmissionResult, ...] = field(default_factory=tuple)
    isolation: str = ""
    pass_mark: Fraction | None = None
    messages: Messages = "all"
    columns: tuple[tuple[str, str], ...] = ()
    earlier: Earlier = "own"
    reasons: dict[str, str] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    absent: tuple[str, ...] | None = None

    def is_enough(self, submission: SubmissionResult) -> bool | None:
        """Tell whether a submission has passed; None if there is no mark for that."""
        if self.pass_mark is None:
            return None
        enough = submission.final * 100 >= self.pass_mark * submission.maximum
        return enough and not submission.problem

    def seed_of(self, submission: SubmissionResult) -> int:
        """Return the seed that a submission was graded with."""
        return self.seed if submission.seed is None else submission.seed


def number(points: Fraction) -> float:
    """Write points as reports do: at most two decimals."""
    return round(float(points), 2)
