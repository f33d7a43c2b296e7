"""Workers forked from a nursery: the judge's side of it, on Linux."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from grader.processes.ending import Ending, ending
from grader.remote.channel import Channel
from grader.remote.inputs import Inputs, anonymous, mapped
from grader.remote.process import Process
from grader.remote.used import Held, Used, used_by
from grader.sandbox import Isolation, clean_environment
from grader.sandbox.limits import sizes
from grader.trouble import NurseryError
from grader.workers import cores, device_memory

ROOT = Path(__file__).resolve().parents[2]
# the kit is found by its path, whatever folder this is run in
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from grader.workers.nursery import main; main()"
)
PATIENCE = 120.0
LONGEST = 2**16
WATCHED_EVERY = 0.05
# megabytes that it holds beyond the limit on data: its folder, libraries' tables, what is shared
BESIDES = 128


@dataclass(frozen=True)
class WorkerJob:
    """What a worker is started with.

    Attributes:
        names: every chapter's stem with the names of its exercises.
        home: the device that it works on.
        memory: megabytes that the answer may take.
        planted: wrong functions of the kit's own, when the kit is proved.
    """

    names: Mapping[str, Sequence[str]]
    home: str = "cpu"
    memory: int = 4096
    planted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def said(self) -> dict[str, Any]:
        """Return the job as the nursery reads it: done on the cores that this process keeps to."""
        return {
            "do": "start", "names": dict(self.names), "home": self.home, "memory": self.memory,
            "planted": dict(self.planted), "cores": sorted(cores.mine()),
        }  # fmt: skip


class Starter(Protocol):
    """Starts the processes that answers run in."""

    def wait(self) -> None:
        """Wait until it can start one.

        Raises:
            NurseryError: it cannot.
        """

    def start(self, job: WorkerJob) -> Process:
        """Start a worker."""

    def close(self) -> None:
        """End all of them."""


class Nursery:
    """A nursery that has been started; it is closed with its workers.

    Args:
        isolation: the walls that are put up around them; None for none but those of a process.
        hidden: what they must not read even where it lies under what they may.
        gpu: whether they use one. Then nothing is worked out before the fork, not even to warm up:
            neither CUDA nor the threads of a backward pass on a GPU survive it.
    """

    def __init__(
        self,
        isolation: Isolation | None = None,
        hidden: Sequence[Path] = (),
        *,
        gpu: bool = False,
    ) -> None:
        mine, theirs = socket.socketpair()
        house = {
            "isolation": None if isolation is None else isolation.to_json(),
            "hidden": [str(path) for path in hidden],
            "gpu": gpu,
        }
        with theirs:
            command = [sys.executable, "-s", "-c", START, str(ROOT)]
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), json.dumps(house)],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                cwd="/", env=clean_environment(gpu=gpu),
            )  # fmt: skip
        self._control = mine
        self._control.settimeout(PATIENCE)
        self._ready = False

    def start(self, job: WorkerJob) -> Forked:
        """Start a worker.

        Raises:
            NurseryError: it cannot be started, or cannot be shut in.
        """
        self.wait()
        mine, theirs = socket.socketpair()
        inputs = anonymous()
        with theirs:
            descriptors = [theirs.fileno(), inputs]
            socket.send_fds(self._control, [json.dumps(job.said()).encode()], descriptors)
            memory = mapped(inputs)
            told = self._told()
        if "problem" in told:
            mine.close()
            self.end(told["pid"])
            raise NurseryError(f"a worker could not be started: {told['problem']}")
        channel = Channel(mine, inputs=Inputs(memory))
        worker = Forked(self, told["pid"], told["number"], channel, job.memory)
        worker.watch_memory(device=job.home != "cpu")
        return worker

    def end(self, child: int, *, expected: bool = True) -> dict[str, Any]:
        """End a worker; return its status, the most memory that it held, and who ended it."""
        say = {"do": "end", "pid": child, "expected": expected}
        self._control.sendall(json.dumps(say).encode())
        return self._told()

    def close(self) -> None:
        """End the nursery and all of its workers."""
        self._control.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Wait until it can start workers.

        Raises:
            NurseryError: it cannot.
        """
        if not self._ready:
            told = self._told()
            if "problem" in told:
                raise NurseryError(told["problem"])
            self._ready = True

    def _told(self) -> dict[str, Any]:
        try:
            text = self._control.recv(LONGEST)
        except OSError as problem:
            says = f"the process that starts workers does not answer: {problem}"
            raise NurseryError(says) from None
        if not text:
            raise NurseryError("the process that starts workers has ended")
        said: dict[str, Any] = json.loads(text)
        return said


class Nurseries:
    """A nursery for the CPU, and one for a GPU once a worker is to use it.

    Args:
        isolation: the walls that are put up around workers; None for none but those of a process.
        hidden: what they must not read even where it lies under what they may.
        on_gpu: the walls of those that use a GPU.
    """

    def __init__(
        self,
        isolation: Isolation | None = None,
        hidden: Sequence[Path] = (),
        on_gpu: Isolation | None = None,
    ) -> None:
        self._on_gpu, self._hidden = on_gpu, hidden
        self._for_cpu = Nursery(isolation, hidden)
        self._for_gpu: Nursery | None = None

    def wait(self) -> None:
        """Wait until it can start workers; one for a GPU is waited for when it is needed.

        Raises:
            NurseryError: it cannot.
        """
        self._for_cpu.wait()

    def start(self, job: WorkerJob) -> Forked:
        """Start a worker.

        Raises:
            NurseryError: it cannot be started, or cannot be shut in.
        """
        if job.home == "cpu":
            return self._for_cpu.start(job)
        if self._for_gpu is None:
            self._for_gpu = Nursery(self._on_gpu, self._hidden, gpu=True)
        return self._for_gpu.start(job)

    def close(self) -> None:
        """End the nurseries and all of their workers."""
        for nursery in (self._for_cpu, self._for_gpu):
            if nursery is not None:
                nursery.close()


class Forked:
    """A worker that was forked from a nursery.

    Args:
        nursery: which has forked it.
        child: its number in the nursery's eyes.
        number: its number in the eyes of everybody else.
        channel: the judge's end of the pipe.
        memory: megabytes that it may take.
    """

    def __init__(
        self, nursery: Nursery, child: int, number: int, channel: Channel, memory: int
    ) -> None:
        self._nursery, self._child, self._number, self._memory = nursery, child, number, memory
        self.channel = channel
        self._ended = threading.Event()
        self._held_too_much = False

    def watch_memory(self, *, device: bool = False) -> None:
        """End it when it holds more than it may, from outside.

        CUDA survives no limit from within, and what is filled and then made read-only none counts.
        What it had when it was forked, torch itself, is not counted.

        Args:
            device: whether to look at a GPU's memory, too.
        """
        if device:
            device_memory.OF_ALL.watch(self._number, self._memory, self._takes_too_much)
        most = sizes(self._number)["VmData"] + (self._memory + BESIDES) * 2**20

        def watch() -> None:
            with contextlib.suppress(OSError):  # it is gone
                while not self._ended.wait(WATCHED_EVERY):
                    now = sizes(self._number)
                    if now.get("RssAnon", 0) + now.get("RssShmem", 0) > most:
                        self._takes_too_much()
                        return

        threading.Thread(target=watch, daemon=True).start()

    def _takes_too_much(self) -> None:
        if not self._ended.is_set():
            self._held_too_much = True
            with contextlib.suppress(OSError):  # it is gone
                os.kill(self._number, signal.SIGKILL)

    def used(self) -> Used | None:
        """Return what it has used of the processor."""
        return used_by(self._number)

    def held(self) -> Held | None:
        """Return the memory that it holds; nothing once it is gone."""
        try:
            now = sizes(self._number)
        except OSError:
            return None
        return Held(now.get("VmRSS", 0), now.get("VmHWM", 0))

    def end(self, *, expected: bool = True) -> Ending:
        """End it with all that it has started; say how it had ended, if that was not expected."""
        self.channel.close()
        self._ended.set()
        device_memory.OF_ALL.forget(self._number)
        told = self._nursery.end(self._child, expected=expected)
        if expected:
            return Ending()
        if self._held_too_much:
            return Ending(f"held more memory than the {self._memory} MB that it may, and was ended")
        return ending(told["status"], told["memory"], self._memory, by_us=told["by us"])
