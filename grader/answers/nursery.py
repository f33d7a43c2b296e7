"""The nursery: a clean process with torch loaded, from which workers are forked.

It is started afresh, not forked, and imports nothing of the kit that knows what is right: a child
can read all the memory that it inherits. It keeps to one thread, because a child forked after a
parallel operation hangs, and never touches CUDA, which cannot be started again after a fork.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.answers import cores, pages
from grader.sandbox import (
    Isolation,
    SandboxError,
    Walls,
    enclose,
    prepare_nursery,
)

LONGEST = 2**16
# what a check leaves behind is little: to look for rubbish after every 700 objects is too often
SELDOM = (20_000, 20, 20)
# from so many workers on large pages cost less than they save
SEVERAL = 4
KIT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Serve the judge on a socket until it is gone."""
    control = socket.socket(fileno=int(sys.argv[2]))
    house = json.loads(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        said = house["isolation"]
        isolation = None if said is None else Isolation.from_json(said)
        if isolation is not None:
            prepare_nursery(isolation)
    except SandboxError as problem:
        _tell(control, {"problem": str(problem)})
        os._exit(1)
    _warm_up()
    if isolation is not None:
        # what is imported from now on is a student's; the kit's own folders are not to be found
        sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != KIT]
    _tell(control, {"ready": True})
    Nurse(control, house, isolation).serve()
    os._exit(0)


def _warm_up() -> None:
    import torch

    torch.set_num_threads(1)
    from grader.answers import warm, worker  # noqa: F401

    warm.up()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*SELDOM)


@dataclass
class Nurse:
    """Starts and ends workers as the judge asks for."""

    control: socket.socket
    house: dict[str, Any]
    isolation: Isolation | None
    children: set[int] = field(default_factory=set)
    started: int = 0

    def serve(self) -> None:
        """Serve until the judge is gone; no worker outlives that."""
        while True:
            try:
                text, descriptors, _, _ = socket.recv_fds(self.control, LONGEST, 1)
            except OSError:
                break
            if not text:
                break
            job = json.loads(text)
            if job["do"] == "start":
                _tell(self.control, self._start(job, descriptors[0]))
            else:
                _tell(self.control, self._end(job["pid"]))
        for child in list(self.children):
            self._end(child)

    def _start(self, job: dict[str, Any], channel: int) -> dict[str, Any]:
        """Fork a worker; it has been shut in when this returns, and has run nothing yet."""
        self.started += 1
        if self.started == SEVERAL:
            pages.made_large()
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            self.control.close()
            self._be_worker(job, channel, writer)
        self.children.add(child)
        os.close(writer)
        os.close(channel)
        with os.fdopen(reader, "rb") as told:
            problem = told.read().decode()
        if problem != "in":
            return {"pid": child, "problem": problem or "it ended before it was shut in"}
        return {"pid": child}

    def _be_worker(self, job: dict[str, Any], channel: int, told: int) -> None:
        """Become a worker, for good."""
        try:
            problem = ""
            try:
                self._be_shut_in(job, channel, told)
            except Exception as error:
                problem = str(error) or type(error).__name__
            os.write(told, (problem or "in").encode())
            os.close(told)
            if not problem:
                _work(job, channel)
        finally:
            os._exit(0)

    def _be_shut_in(self, job: dict[str, Any], channel: int, told: int) -> None:
        cores.keep_to(job["cores"])
        if self.isolation is None:
            os.setsid()
            return
        hidden = (KIT, *map(Path, self.house["hidden"]))
        walls = Walls(
            readable=(Path(job["folder"]),), hidden=hidden, keep=(channel, told),
            memory=job["memory"], gpu=job["home"] != "cpu",
        )  # fmt: skip
        enclose(walls, self.isolation)

    def _end(self, child: int) -> dict[str, Any]:
        self.children.discard(child)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        try:
            _, status, used = os.wait4(child, 0)
        except ChildProcessError:
            return {"status": None, "memory": 0}
        return {"status": os.waitstatus_to_exitcode(status), "memory": used.ru_maxrss // 1024}


def _work(job: dict[str, Any], channel: int) -> None:
    from grader.answers.channel import Channel
    from grader.answers.worker import Worker

    stand_ins = {
        full: getattr(importlib.import_module(module), function)(*rest)
        for full, (module, function, *rest) in job["stand_ins"].items()
    }
    pipe = Channel(socket.socket(fileno=channel))
    with contextlib.suppress(EOFError, OSError):
        Worker(pipe, Path(job["folder"]), job["names"], job["home"], stand_ins).run()


def _tell(control: socket.socket, said: dict[str, Any]) -> None:
    try:
        control.sendall(json.dumps(said).encode())
    except OSError:
        os._exit(0)  # nobody is there any more
