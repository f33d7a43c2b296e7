"""A worker that somebody else has ended: its check is tried again, and never a verdict."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from grader import places
from grader.chapters import catalogue
from grader.hearings.hearing import ATTEMPTS, Hearing
from grader.remote.held import chapters_in
from grader.remote.process import Process
from grader.trouble import NurseryError
from grader.workers.forked import Starter, WorkerJob

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a nursery")
NAME = "ex02_scaling.scale_scores"


class Killed:
    """Starts workers, the first of which somebody else ends as soon as a call is asked for."""

    def __init__(self, starter: Starter, how_many: int) -> None:
        self.starter, self.left = starter, how_many

    def start(self, job: WorkerJob) -> Process:
        """Start a worker."""
        worker: Any = self.starter.start(job)
        put: Callable[..., None] = worker.channel.put_now

        def ends_first(message: Any, *rest: Any) -> None:
            if message.text.startswith(b'{"ask":"call"') and self.left > 0:
                self.left -= 1
                os.kill(worker._number, signal.SIGKILL)
            put(message, *rest)

        worker.channel.put_now = ends_first
        return worker  # type: ignore[no-any-return]

    def wait(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def verdicts(starter: Starter, killed: int) -> list[str]:
    known = catalogue()
    starts = Killed(starter, killed)
    hearing = Hearing(known, starts, chapters_in(places.SOLUTIONS), "cpu", 3)
    return [result.verdict for result in hearing.results([known.exercise(NAME)])]


def test_a_check_is_tried_again(starter):
    count = len(catalogue().exercise(NAME).checks)
    assert verdicts(starter, ATTEMPTS - 1) == ["passed"] * count


def test_what_is_ended_again_and_again_is_not_judged(starter):
    with pytest.raises(NurseryError, match="from outside"):
        verdicts(starter, ATTEMPTS)
