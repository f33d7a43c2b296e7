"""The supervisor: starts workers, waits for each check with a clock of its own, and goes on."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from grader.chapters import Exercise
from grader.judging import worker
from grader.results import CheckResult
from grader.suite.check import Check

START_LIMIT = 120.0
TROUBLE_LIMIT = 2
LARGEST = 2**20


@dataclass(frozen=True)
class Limits:
    """What a submission may take: seconds for each check, megabytes for all."""

    seconds: float = 10.0
    memory: int = 4096


class GradingError(Exception):
    """No worker could be started; nothing about the submission is known."""


@dataclass
class Supervisor:
    """Runs checks of one submission on one device, whatever the submission does."""

    folder: Path
    device: str
    seed: int
    limits: Limits = field(default_factory=Limits)

    def grade(self, exercises: list[Exercise]) -> Iterator[CheckResult]:
        """Give every check its result, in order."""
        self._trouble: dict[str, int] = {}
        self._hanging: list[str] = []
        self._broken: dict[str, CheckResult] = {}
        left = [check for exercise in exercises for check in exercise.checks]
        while left:
            done = 0
            for result in self._one_worker(left):
                yield result
                done += 1
            left = left[done:]
            for result in self._given_up(left):
                yield result
                left = left[1:]

    def _one_worker(self, checks: list[Check]) -> Iterator[CheckResult]:
        """Yield the results of the first checks, until the worker ends or is ended."""
        with _Worker(self._job(checks)) as running:
            waiting = list(checks)
            loading, at = None, None
            while waiting:
                message = running.next(START_LIMIT if at is None and loading is None
                                       else self.limits.seconds * 1.5 + 2)  # fmt: skip
                if "loading" in message:
                    loading = message["loading"]
                elif "at" in message:
                    loading, at = None, message["at"]
                elif message.get("done") == [waiting[0].stem, waiting[0].name]:
                    check = waiting.pop(0)
                    self._hanging = [str(name) for name in message["hanging"]]
                    yield self._result(check, message)
                elif "gone" in message:
                    if at is None and loading is None:
                        raise GradingError(f"a worker could not be started: {message['says']}")
                    yield self._lost(waiting[0], loading, message)
                    return
                elif "end" in message:
                    return

    def _job(self, checks: list[Check]) -> worker.Job:
        names = [(check.stem, check.name) for check in checks]
        limits = self.limits
        return worker.Job(
            str(self.folder), self.device, self.seed, names, self._hanging,
            limits.seconds, limits.memory,
        )  # fmt: skip

    def _result(self, check: Check, message: dict[str, Any]) -> CheckResult:
        return CheckResult(
            check.name, self.device, message["verdict"], check.core,
            message["message"], message["slip"],
        )  # fmt: skip

    def _lost(self, check: Check, loading: str | None, message: dict[str, Any]) -> CheckResult:
        self._trouble[check.full_exercise] = self._trouble.get(check.full_exercise, 0) + 1
        place = f"{loading}.py, while it was imported," if loading else check.full_exercise
        says = f"{place} {message['says']}"
        result = CheckResult(check.name, self.device, message["gone"], check.core, says)
        if loading:
            self._broken[loading] = result
        return result

    def _given_up(self, checks: list[Check]) -> Iterator[CheckResult]:
        """Give the checks at the front that are not worth a worker their result at once."""
        for check in checks:
            broken = self._broken.get(check.stem)
            if broken is not None:
                verdict, says = broken.verdict, broken.message
            elif self._trouble.get(check.full_exercise, 0) >= TROUBLE_LIMIT:
                verdict, says = "crashed", f"{check.full_exercise}: not tried, it ended its process"
            else:
                return
            yield CheckResult(check.name, self.device, verdict, check.core, says)


class _Worker:
    """One worker process and the pipe from it."""

    def __init__(self, job: worker.Job) -> None:
        context = _context()
        self.reader, self.writer = context.Pipe(duplex=False)
        self.process = context.Process(target=worker.main, args=(self.writer, job), daemon=True)

    def __enter__(self) -> _Worker:
        self.process.start()
        self.writer.close()
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(os, "killpg") and self.process.pid is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError, ValueError):
            self.process.kill()
        self.process.join()
        self.reader.close()

    def next(self, seconds: float) -> dict[str, Any]:
        """Return the worker's next message, or how it was lost, as `gone` and `says`."""
        message = _receive(self.reader, seconds)
        if message is not None:
            return message
        if self.process.is_alive() and not self.reader.closed and not self._ended():
            self.process.kill()
            return {"gone": "timeout", "says": "did not come back in time and was ended"}
        self.process.join()
        return {"gone": "crashed", "says": _last_words(self.process.exitcode)}

    def _ended(self) -> bool:
        self.process.join(0.5)
        return self.process.exitcode is not None


def _receive(reader: Connection, seconds: float) -> dict[str, Any] | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if reader.poll(min(1.0, max(0.0, deadline - time.monotonic()))):
                message = json.loads(reader.recv_bytes(LARGEST))
                return message if isinstance(message, dict) else None
        except (EOFError, OSError, ValueError):
            return None
    return None


def _last_words(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            name = f"{signal.Signals(-code).name} ({signal.strsignal(-code)})"
        except ValueError:
            name = f"signal {-code}"
        return f"ended its process with {name}"
    return f"ended its process by itself, with status {code}: os._exit or a crash"


def _context() -> Any:
    """Fork workers from a warm server where that is safe, start them afresh elsewhere."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["grader.judging.warm"])
    return context
