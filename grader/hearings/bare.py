"""A question to a worker that nothing of a submission was in: what its device can do."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from grader import devices
from grader.remote.world import RemoteWorld
from grader.workers.forked import Starter, WorkerJob

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
