"""The worker: runs one submission's checks in a process of its own and reports each as it ends.

It says what it is about to do before it does it, so that whoever waits knows what a worker that
hangs or dies was at.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from grader.chapters import World, catalogue
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome, TimeLimit
from grader.judging.run import Setting
from grader.suite.check import Check

LONGEST = 20_000
MEGABYTE = 2**20


@dataclass(frozen=True)
class Job:
    """What a worker is to do.

    Attributes:
        folder: the submission's files.
        device: where the checks run.
        seed: of the inputs.
        checks: stem and name of each check, in order.
        hanging: exercises that did not come back in an earlier worker.
        time_limit: seconds for each check.
        memory: megabytes of data that the submission may take.
    """

    folder: str
    device: str
    seed: int
    checks: Sequence[tuple[str, str]]
    hanging: Sequence[str]
    time_limit: float
    memory: int


def main(connection: Connection, job: Job) -> None:
    """Run the job, sending one JSON message for each step."""
    _be_quiet()
    born = os.getpid()
    import torch

    torch.set_num_threads(1)
    if job.device == "cpu":
        _limit_memory(job)
    known = catalogue()
    checks = {(c.stem, c.name): c for e in known.exercises() for c in e.checks}
    world = World(Path(job.folder), known.names())
    device = "cuda:0" if job.device == "cuda" else job.device
    judge = Judge(known, world, Setting(device, job.seed), hanging=set(job.hanging))
    for stem, name in job.checks:
        _load(connection, world, stem, job.time_limit)
        _send(connection, {"at": [stem, name]})
        outcome = _judge(judge, checks[stem, name], job.time_limit)
        if os.getpid() != born:
            os._exit(0)  # a fork of the answer's making, come back into our loop
        done = {"done": [stem, name], "hanging": sorted(judge.hanging)}
        _send(connection, {**done, **_said(outcome)})
        if _poisoned(outcome):
            break
    _send(connection, {"end": True})
    connection.close()
    os._exit(0)


def _be_quiet() -> None:
    if hasattr(os, "setsid"):
        os.setsid()  # so that whatever is started here can be ended with it
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    if hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _limit_memory(job: Job) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        size = job.memory * MEGABYTE
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _load(connection: Connection, world: World, stem: str, time_limit: float) -> None:
    if stem in world.modules:
        return
    _send(connection, {"loading": stem})
    with contextlib.suppress(Exception), _alarm(time_limit):
        world.load(stem)


def _judge(judge: Judge, check: Check, time_limit: float) -> Outcome:
    try:
        with _alarm(time_limit):
            return judge.judge(check)
    except TimeLimit:
        return Outcome("timeout", message=f"{check.full_exercise} did not come back in time")
    except Exception:
        return Outcome("error", message=f"the check itself failed: {traceback.format_exc(-3)}")


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise TimeLimit in the main thread; whoever swallows it is killed from outside."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise TimeLimit

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _said(outcome: Outcome) -> dict[str, Any]:
    return {
        "verdict": outcome.verdict,
        "message": outcome.message[:LONGEST],
        "slip": outcome.slip,
    }


def _poisoned(outcome: Outcome) -> bool:
    """Tell whether the CUDA context is lost: the next check needs a fresh process."""
    return any(sign in outcome.message for sign in ("CUDA error", "device-side assert"))


def _send(connection: Connection, message: dict[str, Any]) -> None:
    connection.send_bytes(json.dumps(message).encode())
