"""Workers started afresh, where a process cannot be forked safely: macOS and Windows."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import sys
from multiprocessing.shared_memory import SharedMemory
from typing import Any

from grader.processes.child import be_quiet
from grader.processes.ending import Ending, ending
from grader.remote.channel import Channel
from grader.remote.inputs import SIZE, Inputs
from grader.remote.used import Held, Used, used_by
from grader.workers.forked import WorkerJob


class Spawner:
    """Starts each worker in a new process; there is nothing around it but that."""

    def wait(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def start(self, job: WorkerJob) -> Spawned:
        """Start a worker."""
        mine, theirs = socket.socketpair()
        shared = SharedMemory(create=True, size=SIZE)
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=be_worker, args=(theirs, job, shared), daemon=True)
        os.environ.setdefault("PYTHONHASHSEED", "0")  # as in the environment of a nursery
        process.start()
        theirs.close()
        assert shared.buf is not None
        channel = Channel(mine, inputs=Inputs(shared.buf[:SIZE]))
        return Spawned(process, channel, shared, job.memory)

    def close(self) -> None:
        """Do nothing: each worker is ended by who asked for it."""


class Spawned:
    """A worker in a process that was started afresh."""

    def __init__(self, process: Any, channel: Channel, shared: SharedMemory, memory: int) -> None:
        self._process, self._shared = process, shared
        self.channel, self._memory = channel, memory

    def held(self) -> Held | None:
        """Return nothing: only Linux tells."""
        return None

    def used(self) -> Used | None:
        """Return what it has used of the processor, where that can be told."""
        return used_by(self._process.pid) if sys.platform == "linux" else None

    def end(self, *, expected: bool = True) -> Ending:
        """End it; say how it had ended, if that was not expected."""
        self.channel.close()
        if not expected:
            self._process.join(0.5)
        by_us = self._process.exitcode is None
        self._process.kill()
        self._process.join()
        if self.channel.inputs is not None:
            self.channel.inputs.release()
        self._shared.close()
        self._shared.unlink()
        if expected:
            return Ending()
        return ending(self._process.exitcode, 0, self._memory, by_us=by_us)


def be_worker(channel: socket.socket, job: WorkerJob, shared: SharedMemory) -> None:
    """Become a worker, for good."""
    be_quiet()
    import torch

    torch.set_num_threads(1)
    from grader.remote.worker import Worker
    from grader.workers import warm

    warm.settle_on(job.home, job.memory)
    with contextlib.suppress(BaseException):
        Worker(Channel(channel, shared.buf), job.names, job.home).run()
    os._exit(0)
