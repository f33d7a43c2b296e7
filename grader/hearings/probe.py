"""What a device can do: asked of a fresh worker, in which nothing of a submission was."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader import devices
from grader.remote.world import RemoteWorld
from grader.sandbox import Isolation
from grader.sandbox.rungs import Rung, highest
from grader.trouble import Lost, NurseryError
from grader.workers.forked import Starter, WorkerJob
from grader.workers.starting import starter_on_gpu

# a context may take long to start, and nothing of a submission's is timed by it
START_LIMIT = 60.0
NO_CHAPTERS: Mapping[str, Sequence[str]] = {}


def asked(question: str, device: str, starter: Starter, memory: int = WorkerJob.memory) -> Any:
    """Start a worker on a device, and ask it.

    Args:
        question: as the worker knows it.
        device: its name.
        starter: starts the worker.
        memory: megabytes that it may take.

    Raises:
        Lost: it has ended.
        NurseryError: it cannot be started.
    """
    home = devices.indexed(device)
    devices.name_only(home)
    job = WorkerJob(NO_CHAPTERS, home, memory)
    world = RemoteWorld(lambda: starter.start(job), {}, NO_CHAPTERS, START_LIMIT, home)
    with contextlib.closing(world):
        return world.ask(question, {}).header


def try_out(
    device: str, isolation: Isolation, hidden: Sequence[Path] = (), memory: int = 4096
) -> Rung:
    """Find the walls within which a device works.

    Args:
        device: its name.
        isolation: the walls of this machine.
        hidden: what workers must not read.
        memory: megabytes that a worker may take.
    """
    free = 0

    def attempt(walls: Isolation) -> str:
        nonlocal free
        error, free = _tried(device, walls, hidden, memory)
        return error

    if sys.platform == "linux":
        return replace(highest(isolation, attempt), free=free)
    error = attempt(isolation)
    return Rung(None, (), error) if error else Rung(isolation, free=free)


def _tried(
    device: str, isolation: Isolation, hidden: Sequence[Path], memory: int
) -> tuple[str, int]:
    """Compute on a device in a worker.

    Returns:
        The error in one line, nothing if it is right; and the device's free megabytes, if known.
    """
    try:
        with contextlib.closing(starter_on_gpu(isolation, hidden)) as starter:
            said = asked("try_out", device, starter, memory)
    except Lost as lost:
        return f"its process {lost.says}", 0
    except NurseryError as problem:
        return str(problem), 0
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}", 0
    error, free = said.get("error"), said.get("free")
    if type(error) is not str or type(free) is not int:
        return "nothing sensible came back", 0
    return error, free
