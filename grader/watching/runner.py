"""Trials in the background: a new one ends the one before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.trial import Children, PlannedTask, Result, StartError, Trial
from grader.written.folder import Folder


@dataclass(frozen=True)
class Tried:
    """One check of a trial is done."""

    number: int
    result: Result


@dataclass(frozen=True)
class TrialEnded:
    """A trial is done; `problem` says why it could not be, if it could not."""

    number: int
    problem: str = ""


class Runner:
    """Runs one trial at a time.

    Args:
        children: where the processes come from.
        post: told what happens, from another thread.
    """

    def __init__(self, children: Children, post: Callable[[Tried | TrialEnded], None]) -> None:
        self._children, self._post = children, post
        self._trial: Trial | None = None
        self._thread: threading.Thread | None = None
        self.number = 0

    def start(
        self, folder: Folder, tasks: Sequence[PlannedTask], wrong: dict[str, bool], *, behind: bool
    ) -> None:
        """Start a trial; what an earlier one still says has an earlier number.

        Args:
            folder: the answers.
            tasks: what to try.
            wrong: of the others, whether they are wrong.
            behind: whether nobody waits for it, so that it is the next save that is prepared for.
        """
        self.stop()
        self.number += 1
        self._trial = Trial(folder, self._children, wrong, quick=True)
        arguments = (self.number, self._trial, tasks, behind)
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the trial that runs."""
        if self._trial is not None:
            self._trial.stop()

    def close(self) -> None:
        """End everything."""
        self.stop()
        if self._thread is not None:
            self._thread.join(2)
        self._children.close()

    def _run(self, number: int, trial: Trial, tasks: Sequence[PlannedTask], behind: bool) -> None:
        try:
            for result in trial.run(tasks):
                self._post(Tried(number, result))
                if behind:
                    self._children.prepare()
            self._post(TrialEnded(number))
            self._children.prepare()  # not before: it would take time from the verdict
        except StartError as problem:
            self._post(TrialEnded(number, str(problem)))
