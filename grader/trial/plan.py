"""What there is to do, as plain data: the process that draws the screen needs no PyTorch for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from grader.naming import select
from grader.results import CheckResult, ExerciseResult, Track
from grader.written.folder import Folder

DEVICE = "cpu"


@dataclass(frozen=True)
class PlannedTask:
    """One function to write.

    Attributes:
        full: the name with its chapter, `ex04_softmax.softmax`.
        points: what it is worth.
        difficulty: 1 to 5.
        minutes: how long it may take.
        hints: the ladder of three.
        checks: its checks' names, and whether each is a core check.
        track: whose points it brings.
    """

    full: str
    points: Fraction
    difficulty: int
    minutes: int
    hints: tuple[str, ...]
    checks: tuple[tuple[str, bool], ...]
    track: Track = "core"

    @property
    def stem(self) -> str:
        """The chapter."""
        return self.full.split(".")[0]

    @property
    def name(self) -> str:
        """The function."""
        return self.full.split(".")[1]

    def result(self, checks: Iterable[CheckResult] = ()) -> ExerciseResult:
        """Put what came out of its checks together."""
        return ExerciseResult(
            self.full, self.points, len(self.checks), tuple(checks), track=self.track
        )


@dataclass(frozen=True)
class Plan:
    """All tasks in teaching order."""

    tasks: tuple[PlannedTask, ...]

    def task(self, full: str) -> PlannedTask:
        """Return the task of a full name."""
        return next(task for task in self.tasks if task.full == full)

    def names(self) -> dict[str, list[str]]:
        """Return each chapter with the names of its functions."""
        return _names(self.tasks)

    def stems(self) -> list[str]:
        """List the chapters."""
        return list(dict.fromkeys(task.stem for task in self.tasks))

    def begun(self, folder: Folder) -> list[PlannedTask]:
        """List the tasks that count for a student: beyond the seven chapters, those once begun.

        Where there are no others, all count.
        """
        further = {task.stem for task in self.tasks if task.track != "core"}
        if len(further) == len(self.stems()):
            return [*self.tasks]
        left_out = {stem for stem in further if not folder.has_begun(stem)}
        return [task for task in self.tasks if task.stem not in left_out]

    def chapter(self, stem: str) -> list[PlannedTask]:
        """List the tasks of a chapter."""
        return [task for task in self.tasks if task.stem == stem]

    def select(self, name: str) -> list[PlannedTask]:
        """Return the tasks that a name means.

        Raises:
            LookupError: nothing is called so; the sentence names what is near.
        """
        meant = {self.task(full).full for full in select(name, _names(self.tasks))}
        return [task for task in self.tasks if task.full in meant]


def _names(tasks: Sequence[PlannedTask]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for task in tasks:
        names.setdefault(task.stem, []).append(task.name)
    return names
