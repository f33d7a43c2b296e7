"""The long parts: many trials, several at a time, in processes that live as their device does.

An index out of its range breaks a GPU for the process: whatever follows there would fail for it.
"""

from __future__ import annotations

import itertools
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass

from grader import devices
from grader.chapters import Exercise, catalogue
from grader.judging.run import Setting
from grader.proof.cuda.part import Part
from grader.proof.figure import Figure, added_up
from grader.proof.prove import begin


@dataclass(frozen=True)
class Both:
    """The two devices that are held against each other.

    Attributes:
        device: the one that is not the CPU.
        seed: of the inputs.
    """

    device: str
    seed: int = 0

    @property
    def here(self) -> Setting:
        """The CPU."""
        return Setting("cpu", self.seed)

    @property
    def there(self) -> Setting:
        """The device."""
        return Setting(devices.indexed(self.device), self.seed)


Trial = Callable[[], list[Figure]]
# what there is to try of an exercise, in the same order in every process
Trials = Callable[[Exercise, Both], Iterator[Trial]]


@dataclass(frozen=True)
class Spread:
    """How the trials of a part are spread.

    Attributes:
        both: the devices.
        exercises: of these.
        most: so many trials of an exercise at most; None for all.
        jobs: so many at a time.
        minutes: after so many none is begun any more.
    """

    both: Both
    exercises: Sequence[Exercise]
    most: int | None
    jobs: int
    minutes: float

    def over(self, trials: Trials, part: Part) -> None:
        """Do all trials, the first of each exercise first, and take down what they find."""
        until = time.monotonic() + self.minutes * 60
        processes, waiting = _Processes(), self._named(trials)

        def one(named: tuple[int, str]) -> list[Figure] | None:
            late = time.monotonic() > until
            return None if late else processes.do(trials, named[1], named[0], self.both)

        with ThreadPoolExecutor(self.jobs) as threads:
            found = list(threads.map(one, waiting))
        processes.end()
        part.take(added_up(figure for figures in found for figure in figures or ()))
        if left := found.count(None):
            part.note(f"NOT ALL: {left} of {len(waiting)} were not begun in {self.minutes:g} min")

    def _named(self, trials: Trials) -> list[tuple[int, str]]:
        return sorted(
            (number, exercise.full)
            for exercise in self.exercises
            for number, _ in enumerate(itertools.islice(trials(exercise, self.both), self.most))
        )


class _Processes:
    """A process for each thread, and another one when it has lost its device or its life."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._every: list[ProcessPoolExecutor] = []

    def do(self, trials: Trials, full: str, number: int, both: Both) -> list[Figure]:
        """Do a trial."""
        ended = Figure("trials that came to their end")
        try:
            figures, lost = self._process().submit(_done, trials, full, number, both).result()
            ended.count(True, "")
        except Exception as problem:
            figures, lost = [], True
            ended.count(False, f"{full}, {number}: {type(problem).__name__}: {problem}")
        if lost:
            self._here.process = None
        return [*figures, ended]

    def _process(self) -> ProcessPoolExecutor:
        if getattr(self._here, "process", None) is None:
            spawn = multiprocessing.get_context("spawn")  # nothing is forked once CUDA is in use
            self._here.process = ProcessPoolExecutor(1, mp_context=spawn)
            self._every.append(self._here.process)
        return self._here.process

    def end(self) -> None:
        """Let go of all processes."""
        for one in self._every:
            one.shutdown()


def _done(trials: Trials, full: str, number: int, both: Both) -> tuple[list[Figure], bool]:
    """Do a trial in this process; say what was found, and whether it has lost its device."""
    begin()
    devices.require(both.device)
    does = next(itertools.islice(trials(catalogue().exercise(full), both), number, None))
    return does(), bool(devices.broken(both.device))
