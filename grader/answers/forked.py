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
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from grader.answers import cores
from grader.answers.channel import Channel
from grader.answers.process import Process, last_words
from grader.answers.trouble import NurseryError
from grader.sandbox import Isolation, clean_environment

ROOT = Path(__file__).resolve().parents[2]
# the kit is found by its path, whatever folder this is run in
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from grader.answers.nursery import main; main()"
)
PATIENCE = 120.0
LONGEST = 2**16
WATCHED_EVERY = 0.05


@dataclass(frozen=True)
class Job:
    """What a worker is started with.

    Attributes:
        folder: where the answer's files lie.
        names: every chapter's stem with the names of its exercises.
        home: the device that it works on.
        memory: megabytes that the answer may take.
        stand_ins: wrong functions of the kit's own, when the kit is proved.
    """

    folder: Path
    names: Mapping[str, Sequence[str]]
    home: str = "cpu"
    memory: int = 4096
    stand_ins: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def said(self) -> dict[str, Any]:
        """Return the job as the nursery reads it: done on the cores that this process keeps to."""
        return {
            "do": "start", "folder": str(self.folder), "names": dict(self.names),
            "home": self.home, "memory": self.memory, "stand_ins": dict(self.stand_ins),
            "cores": sorted(cores.mine()),
        }  # fmt: skip


class Starter(Protocol):
    """Starts the processes that answers run in."""

    def wait(self) -> None:
        """Wait until it can start one.

        Raises:
            NurseryError: it cannot.
        """

    def start(self, job: Job) -> Process:
        """Start a worker."""

    def close(self) -> None:
        """End all of them."""


class Nursery:
    """A nursery that has been started; it is closed with its workers.

    Args:
        isolation: the walls that are put up around them; None for none but those of a process.
        hidden: what they must not read even where it lies under what they may.
    """

    def __init__(self, isolation: Isolation | None = None, hidden: Sequence[Path] = ()) -> None:
        mine, theirs = socket.socketpair()
        house = {
            "isolation": None if isolation is None else isolation.to_json(),
            "hidden": [str(path) for path in hidden],
        }
        with theirs:
            command = [sys.executable, "-s", "-c", START, str(ROOT)]
            self._process = subprocess.Popen(
                [*command, str(theirs.fileno()), json.dumps(house)],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                cwd="/", env=clean_environment(),
            )  # fmt: skip
        self._control = mine
        self._control.settimeout(PATIENCE)
        self._ready = False

    def start(self, job: Job) -> Forked:
        """Start a worker.

        Raises:
            NurseryError: it cannot be started, or cannot be shut in.
        """
        self.wait()
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [json.dumps(job.said()).encode()], [theirs.fileno()])
            told = self._told()
        if "problem" in told:
            mine.close()
            self.end(told["pid"])
            raise NurseryError(f"a worker could not be started: {told['problem']}")
        worker = Forked(self, told["pid"], Channel(mine), job.memory)
        if job.home != "cpu":
            worker.watch_memory()
        return worker

    def end(self, child: int) -> tuple[int | None, int]:
        """End a worker; return its status and the most memory that it held, in megabytes."""
        self._control.sendall(json.dumps({"do": "end", "pid": child}).encode())
        told = self._told()
        return told["status"], told["memory"]

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


class Forked:
    """A worker that was forked from a nursery."""

    def __init__(self, nursery: Nursery, child: int, channel: Channel, memory: int) -> None:
        self._nursery, self._child, self._memory = nursery, child, memory
        self.channel = channel
        self._ended = threading.Event()

    def watch_memory(self) -> None:
        """End it when it holds more than it may, from outside: CUDA survives no limit from within.

        What it had when it was forked, torch itself, is not counted.
        """
        at_first = _resident(self._child)

        def watch() -> None:
            while not self._ended.wait(WATCHED_EVERY):
                if _resident(self._child) - at_first > self._memory:
                    with contextlib.suppress(OSError):
                        os.kill(self._child, signal.SIGKILL)
                    return

        threading.Thread(target=watch, daemon=True).start()

    def end(self, *, expected: bool = True) -> str:
        """End it with all that it has started; say how it had ended, if that was not expected."""
        self.channel.close()
        self._ended.set()
        if not expected:
            time.sleep(0.02)  # what closed the pipe may not have ended yet
        status, held = self._nursery.end(self._child)
        return "" if expected else last_words(status, held, self._memory)


def _resident(process: int) -> int:
    """Return how much memory a process holds, in megabytes; 0 if it is gone."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE") // 2**20
