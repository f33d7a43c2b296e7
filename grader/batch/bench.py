"""The bench: a place to grade at, opened once and used for one submission after the other."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.hearings.hearing import Limits
from grader.hearings.process import GradingError, JudgeProcess
from grader.results import CheckResult, Earlier
from grader.sandbox import Isolation

if TYPE_CHECKING:
    from grader.chapters import Exercise


__all__ = ["BatchStopped", "Bench", "GradingError", "Limits", "NoBench"]


class NoBench(Exception):
    """No submission at all can be graded here; the sentence says why."""


class BatchStopped(Exception):
    """The batch was stopped while a submission was on the bench; of that one nothing is known."""


class Bench:
    """A place to grade at. One thread uses it; any thread may stop it.

    Args:
        limits: for each submission.
        isolation: the walls that are put up around submissions; None for none.
        core: the processor core to keep to; None for any.
        earlier: whose earlier chapters later ones are graded over.
        on_gpu: the walls on a GPU, where some have come down; None for the same.
    """

    def __init__(
        self,
        limits: Limits,
        isolation: Isolation | None,
        core: int | None = None,
        earlier: Earlier = "own",
        on_gpu: Isolation | None = None,
    ) -> None:
        self._limits = limits
        self._stopped = threading.Event()
        self._judge = JudgeProcess(isolation, (Path.home(),), core, earlier, on_gpu)

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
        seed: int,
    ) -> dict[str, list[CheckResult]]:
        """Give every check of the exercises a result on every device, in order.

        Args:
            files: the sources of the chapters, by names that end in `.py`.
            exercises: those to grade.
            devices: where to run.
            seed: of the inputs.

        Raises:
            BatchStopped: by `stop`.
            GradingError: nothing can be said about the submission.
        """
        return {device: self._on(device, files, exercises, seed) for device in devices}

    def stop(self) -> None:
        """Make `grade` raise BatchStopped, now and from now on, and end what runs."""
        self._stopped.set()
        self._judge.stop()

    def _on(
        self, device: str, files: Mapping[str, bytes], exercises: Sequence[Exercise], seed: int
    ) -> list[CheckResult]:
        names = [exercise.full for exercise in exercises]
        try:
            return self._judge.hear(files, names, device, seed, self._limits)
        except GradingError:
            if self._stopped.is_set():
                raise BatchStopped from None
            raise
