"""The bench: a place to grade at, opened once and used for one submission after the other."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.batch.laid_out import laid_out
from grader.judging.hearing import Limits
from grader.judging.process import GradingError, JudgeProcess
from grader.results import CheckResult
from grader.sandbox import Isolation

if TYPE_CHECKING:
    from grader.chapters import Exercise


__all__ = ["Bench", "GradingError", "Limits", "NoBench", "Stopped"]


class NoBench(Exception):
    """No submission at all can be graded here; the sentence says why."""


class Stopped(Exception):
    """The batch was stopped while a submission was on the bench; of that one nothing is known."""


class Bench:
    """A place to grade at. One thread uses it; any thread may stop it.

    Args:
        seed: of the inputs.
        limits: for each submission.
        isolation: the walls that are put up around submissions; None for none.
        core: the processor core to keep to; None for any.
    """

    def __init__(
        self, seed: int, limits: Limits, isolation: Isolation | None, core: int | None = None
    ) -> None:
        self._seed, self._limits = seed, limits
        self._stopped = threading.Event()
        self._judge = JudgeProcess(isolation, hidden=(Path.home(),), core=core)

    def __enter__(self) -> Bench:
        """Wait until everything is there.

        Raises:
            GradingError: it cannot be had here.
        """
        try:
            self._judge.wait()
        except BaseException:
            self._judge.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End everything that was started here."""
        self._judge.close()

    def grade(
        self,
        files: Mapping[str, bytes],
        exercises: Sequence[Exercise],
        devices: Sequence[str],
    ) -> dict[str, list[CheckResult]]:
        """Give every check of the exercises a result on every device, in order.

        Args:
            files: the sources of the chapters, by names that end in `.py`.
            exercises: those to grade.
            devices: where to run.

        Raises:
            Stopped: by `stop`.
            GradingError: nothing can be said about the submission.
        """
        with laid_out(files) as folder:
            return {device: self._on(device, folder, exercises) for device in devices}

    def stop(self) -> None:
        """Make `grade` raise Stopped, now and from now on, and end what runs."""
        self._stopped.set()
        self._judge.stop()

    def _on(self, device: str, folder: Path, exercises: Sequence[Exercise]) -> list[CheckResult]:
        names = [exercise.full for exercise in exercises]
        try:
            return self._judge.hear(folder, names, device, self._seed, self._limits)
        except GradingError:
            if self._stopped.is_set():
                raise Stopped from None
            raise
