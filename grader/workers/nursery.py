"""The nursery: a clean process with torch loaded, from which workers are forked.

It is started afresh, not forked, and imports nothing of the kit that knows what is right: a child
can read all the memory that it inherits. It keeps to one thread, because a child forked after a
parallel operation hangs, and never touches CUDA, which cannot be started again after a fork: what
workers on a GPU are forked from has worked nothing out at all.
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
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.remote.inputs import mapped
from grader.sandbox import (
    Isolation,
    SandboxError,
    Walls,
    enclose,
    narrow,
    prepare_nursery,
)
from grader.workers import cores

LONGEST = 2**16
LONGEST_PROBLEM = 2000
# what a check leaves behind is little: to look for rubbish after every 700 objects is too often
SELDOM = (20_000, 20, 20)
# says that a worker has been shut in; its number follows
IN = "in "
# seconds for a worker that has closed its pipe to end
PATIENCE = 0.3
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
    # where there is a GPU, those that may not use it would say so on the terminal
    warnings.filterwarnings("ignore", "CUDA initialization")
    _warm_up(gpu=house["gpu"])
    if isolation is not None and not house["gpu"]:
        from grader.workers import warm

        narrow(isolation, warm.at_work)
    if isolation is not None:
        # what is imported from now on is a student's; the kit's own folders are not to be found
        sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != KIT]
    _tell(control, {"ready": True})
    Nurse(control, house, isolation).serve()
    os._exit(0)


def _warm_up(*, gpu: bool) -> None:
    """Load what workers need; for a GPU's, each of them does the rest for itself."""
    import torch

    # the environment asks for one thread already; torch 2.4, asked again, starts threads first, and
    # in a process with namespaces of its own it waits for them for ever
    if torch.get_num_threads() > 1:
        torch.set_num_threads(1)
    from grader.remote import worker  # noqa: F401
    from grader.workers import warm

    if not gpu:
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

    def serve(self) -> None:
        """Serve until the judge is gone; no worker outlives that."""
        while True:
            try:
                text, descriptors, _, _ = socket.recv_fds(self.control, LONGEST, 2)
            except OSError:
                break
            if not text:
                break
            job = json.loads(text)
            if job["do"] == "start":
                _tell(self.control, self._start(job, *descriptors))
            else:
                _tell(self.control, self._end(job["pid"], job["expected"]))
        for child in list(self.children):
            self._end(child, expected=True)

    def _start(self, job: dict[str, Any], channel: int, inputs: int) -> dict[str, Any]:
        """Fork a worker; it has been shut in when this returns, and has run nothing yet."""
        if self.isolation is None:
            for module, *_ in job["planted"].values():
                # once, and not in every worker of a proof: that took three times as long
                importlib.import_module(module).get_ready()
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            self.control.close()
            self._be_worker(job, channel, inputs, writer)
        self.children.add(child)
        os.close(writer)
        os.close(channel)
        os.close(inputs)
        with os.fdopen(reader, "rb") as told:
            said = told.read().decode()
        if not said.startswith(IN):
            return {"pid": child, "problem": said or "it ended before it was ready"}
        return {"pid": child, "number": int(said.removeprefix(IN))}

    def _be_worker(self, job: dict[str, Any], channel: int, inputs: int, told: int) -> None:
        """Become a worker, for good."""
        try:
            problem, memory, number = "", None, 0
            try:
                number = int(os.readlink("/proc/self"))  # in a pid namespace it has another one
                memory = mapped(inputs)
                self._be_shut_in(job, channel, told)
                if job["home"] != "cpu":
                    from grader.workers import warm

                    warm.settle_on(job["home"], job["memory"])
            except BaseException as error:
                problem = f"{type(error).__name__}: {error}".strip(": ")[:LONGEST_PROBLEM]
            os.write(told, (problem or f"{IN}{number}").encode())
            os.close(told)
            if not problem:
                _work(job, channel, memory)
        finally:
            os._exit(0)

    def _be_shut_in(self, job: dict[str, Any], channel: int, told: int) -> None:
        cores.keep_to(job["cores"])
        if self.isolation is None:
            os.setsid()
            return
        hidden = (KIT, *map(Path, self.house["hidden"]))
        walls = Walls(
            hidden=hidden, keep=(channel, told), memory=job["memory"], gpu=job["home"] != "cpu",
        )  # fmt: skip
        enclose(walls, self.isolation)

    def _end(self, child: int, expected: bool) -> dict[str, Any]:
        self.children.discard(child)
        by_us = expected or not _has_ended(child)
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
        try:
            _, status, used = os.wait4(child, 0)
        except ChildProcessError:
            return {"status": None, "memory": 0, "by us": by_us}
        code, memory = os.waitstatus_to_exitcode(status), used.ru_maxrss // 1024
        return {"status": code, "memory": memory, "by us": by_us}


def _has_ended(child: int) -> bool:
    """Tell whether a worker has ended by itself; what has closed its pipe may be just about to."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with contextlib.suppress(ChildProcessError):
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
        time.sleep(0.005)
    return False


def _work(job: dict[str, Any], channel: int, memory: Any) -> None:
    from grader.remote.channel import Channel
    from grader.remote.worker import Worker

    pipe = Channel(socket.socket(fileno=channel), memory)
    worker = Worker(pipe, job["names"], job["home"])
    for full, (module, function, *rest) in job["planted"].items():
        made = getattr(importlib.import_module(module), function)
        worker.planted[full] = made(*rest, worker.world)
    if not worker.planted:
        _out_of_sight()
    with contextlib.suppress(EOFError, OSError):
        worker.run()


def _out_of_sight() -> None:
    """Let an answer find nothing of the kit by its name, nor by a search through all objects.

    Whoever looks through the frames of its callers finds it all the same: what that can forge
    stands in the README.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        del sys.modules[name]
    gc.freeze()
    del gc.unfreeze


def _tell(control: socket.socket, said: dict[str, Any]) -> None:
    try:
        control.sendall(json.dumps(said).encode())
    except OSError:
        os._exit(0)  # nobody is there any more
