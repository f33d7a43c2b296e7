"""The judge in a process of its own: it never runs a submission, and lives for a whole batch."""

from __future__ import annotations

import contextlib
import functools
import gc
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from grader.hearings.hearing import Limits
from grader.processes.child import end_with_parent
from grader.remote.patience import LOOSELY
from grader.results import CheckResult, Earlier
from grader.sandbox import Isolation

START_LIMIT = 240.0
CHECK_LIMIT = 60.0
TOGETHER = 0.25
# one for each seed and device: the run's seed and one submission's own, on two devices
MOST_MEMORIES = 4


class GradingError(Exception):
    """Nothing can be said about a submission; the sentence says why."""


class JudgeProcess:
    """A judge, and the process from which the workers of its submissions are started.

    Args:
        isolation: the walls that are put up around submissions; None for none.
        hidden: what they must not read even where it lies under what they may.
        core: the processor core that judge and judged keep to; None for another one with each
            submission. One waits while the other works, and on one core neither has to be woken
            from far.
        earlier: whose earlier chapters later ones are judged over.
        on_gpu: the walls of submissions on a GPU; None: the same as of those on the CPU.
    """

    def __init__(
        self,
        isolation: Isolation | None = None,
        hidden: Sequence[Path] = (),
        core: int | None = None,
        earlier: Earlier = "own",
        on_gpu: Isolation | None = None,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._mine, theirs = context.Pipe()
        house = (theirs, isolation, tuple(hidden), core, earlier, on_gpu)
        self._process = context.Process(target=serve, args=house)
        self._process.start()
        theirs.close()

    def wait(self) -> None:
        """Wait until the judge is ready.

        Raises:
            GradingError: it cannot work here; the sentence says why.
        """
        try:
            said = self._mine.recv() if self._mine.poll(START_LIMIT) else "the judge does not start"
        except (OSError, EOFError):
            said = "the judge's process has ended before it began"
        if said is not None:
            raise GradingError(str(said))

    @property
    def pid(self) -> int:
        """The number of the judge's process."""
        return self._process.pid or 0

    def hear(
        self,
        sources: Mapping[str, bytes],
        exercises: Sequence[str],
        device: str,
        seed: int,
        limits: Limits,
    ) -> list[CheckResult]:
        """Give every check of the exercises a result.

        Raises:
            GradingError: the judge is gone, or could start no worker.
        """
        found: list[CheckResult] = []
        try:
            self._mine.send((dict(sources), list(exercises), device, seed, limits))
            while True:
                # a check may cost two workers their time, and the judge has work of its own
                patience = 2 * LOOSELY * limits.seconds + CHECK_LIMIT
                if not self._mine.poll(patience):
                    self.stop()
                    raise GradingError("the judge did not come to an end with it")
                said = self._mine.recv()
                if said is None:
                    return found
                if isinstance(said, str):
                    raise GradingError(said)
                found += said
        except (OSError, EOFError):
            raise GradingError("the judge's process has ended") from None

    def stop(self) -> None:
        """End the judge and all that it has started, from any thread."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._process.kill()

    def close(self) -> None:
        """Let the judge end, with all that it has started."""
        self._mine.close()
        self._process.join(10)
        self.stop()
        self._process.join()


def serve(
    connection: Connection,
    isolation: Isolation | None,
    hidden: Sequence[Path],
    core: int | None,
    earlier: Earlier,
    on_gpu: Isolation | None,
) -> None:
    """Be the judge."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    from grader.workers.cores import keep_to, one_core

    keep_to(set() if core is None else {core})
    from grader.workers.starting import starter_for

    starter = starter_for(isolation, hidden, on_gpu)  # it starts while the suites are imported
    import torch

    torch.set_num_threads(1)
    from grader.chapters import catalogue
    from grader.hearings.each import Hearings
    from grader.judging.recognise import SlipMemory
    from grader.trouble import NurseryError

    @functools.lru_cache(maxsize=MOST_MEMORIES)
    def memory_of(_seed: int, _device: str) -> SlipMemory:
        return SlipMemory()

    hearings = Hearings(catalogue(), starter, earlier)
    with contextlib.suppress(EOFError, OSError), contextlib.closing(starter):
        try:
            starter.wait()
        except NurseryError as problem:
            connection.send(str(problem))
            return
        connection.send(None)
        gc.collect()
        gc.freeze()  # what is there now stays: it is not to be gone through again and again
        while True:
            request = connection.recv()
            with one_core():
                for said in _heard(request, hearings, memory_of):
                    connection.send(said)


def _heard(request: Any, hearings: Any, memory_of: Any) -> Iterator[list[CheckResult] | str | None]:
    """Yield the results as they come, and None after the last; a sentence if nothing can be said.

    Those of some checks go together: to send each by itself costs as much as to judge it.
    """
    from grader.trouble import NurseryError

    sources, names, device, seed, limits = request
    exercises = [hearings.catalogue.exercise(name) for name in names]
    try:
        slips = memory_of(seed, device)
        ready: list[CheckResult] = []
        due = time.monotonic() + TOGETHER
        for result in hearings.results(sources, exercises, device, seed, limits, slips):
            ready.append(result)
            if time.monotonic() > due:
                yield ready
                ready, due = [], time.monotonic() + TOGETHER
        yield ready
        yield None
    except NurseryError as problem:
        yield str(problem)
    except Exception as problem:
        # in its text a submission could write to the log of whoever grades
        sys.stderr.write("".join(traceback.format_tb(problem.__traceback__)))
        yield f"the kit itself failed, with {type(problem).__name__}, which is not its mistake"
