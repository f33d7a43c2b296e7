"""Workers started afresh, where a process cannot be forked safely: macOS and Windows."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
from typing import Any

from grader.answers.channel import Channel
from grader.answers.forked import Job
from grader.answers.process import last_words


class Spawner:
    """Starts each worker in a new process; there is nothing around it but that."""

    def wait(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def start(self, job: Job) -> Spawned:
        """Start a worker."""
        mine, theirs = socket.socketpair()
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=be_worker, args=(theirs, job), daemon=True)
        os.environ.setdefault("PYTHONHASHSEED", "0")  # as in the environment of a nursery
        process.start()
        theirs.close()
        return Spawned(process, Channel(mine), job.memory)

    def close(self) -> None:
        """Do nothing: each worker is ended by who asked for it."""


class Spawned:
    """A worker in a process that was started afresh."""

    def __init__(self, process: Any, channel: Channel, memory: int) -> None:
        self._process, self.channel, self._memory = process, channel, memory

    def end(self, *, expected: bool = True) -> str:
        """End it; say how it had ended, if that was not expected."""
        self.channel.close()
        if not expected:
            self._process.join(0.5)
        self._process.kill()
        self._process.join()
        return "" if expected else last_words(self._process.exitcode, 0, self._memory)


def be_worker(channel: socket.socket, job: Job) -> None:
    """Become a worker, for good."""
    if hasattr(os, "setsid"):
        os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    import torch

    torch.set_num_threads(1)
    from grader.answers import warm
    from grader.answers.worker import Worker

    warm.up()
    with contextlib.suppress(BaseException):
        Worker(Channel(channel), job.folder, job.names, job.home).run()
    os._exit(0)
