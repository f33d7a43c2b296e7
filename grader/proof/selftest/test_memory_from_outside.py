"""A worker's memory as it is watched from outside, where no limit from within counts it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from grader.processes.ending import Ending
from grader.remote.channel import Channel
from grader.workers import device_memory
from grader.workers.forked import WATCHED_EVERY, Forked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
MEMORY = 32
TAKES = "import sys; sys.stdin.read(1); kept = b'x' * ({} << 20); print(len(kept), flush=True); "
TAKES += "sys.stdin.read()"


class Ends:
    """A nursery that ends a child."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child

    def end(self, _: int, *, expected: bool = True) -> dict[str, Any]:
        """End it; return its status, the most memory that it held, and who ended it."""
        by_us = self.child.poll() is None
        self.child.kill()
        return {"status": self.child.wait(), "memory": 0, "by us": by_us}


def watched(megabytes: int, *, device: bool = False) -> tuple[subprocess.Popen[bytes], Any]:
    """Start a process that takes some memory and then waits, and watch it."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", TAKES.format(megabytes)]
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe)
    nursery: Any = Ends(child)
    worker = Forked(nursery, child.pid, child.pid, Channel(socket.socketpair()[0]), MEMORY)
    worker.watch_memory(device=device)
    assert child.stdin
    child.stdin.write(b".")
    child.stdin.flush()
    return child, worker


def test_what_holds_too_much_is_ended_and_told():
    child, worker = watched(1024)
    assert child.wait(60) == -9
    said = "held more memory than the 32 MB that it may, and was ended"
    assert worker.end(expected=False) == Ending(said)


def test_what_holds_no_more_than_it_may_goes_on():
    child, worker = watched(MEMORY)
    assert child.stdout
    assert int(child.stdout.readline()) == MEMORY << 20
    time.sleep(5 * WATCHED_EVERY)
    assert child.poll() is None
    assert worker.end(expected=False) == Ending("closed its end of the pipe")


def a_tool(tmp_path, monkeypatch, megabytes):
    """Put something in the place of `nvidia-smi` that says this of every process of a file."""
    tool = tmp_path / "nvidia-smi"
    lines = f'while read number; do echo "$number, {megabytes}"; done < {tmp_path}/numbers'
    tool.write_text(f"#!/bin/sh\necho '[Not Found], [N/A]'\n{lines}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(device_memory, "EVERY", 0.05)
    return tmp_path / "numbers"


def test_what_takes_too_much_of_a_gpu_is_ended_and_told(tmp_path, monkeypatch):
    numbers = a_tool(tmp_path, monkeypatch, MEMORY + device_memory.CONTEXT + 1)
    child, worker = watched(1, device=True)
    numbers.write_text(f"{child.pid}\n")
    assert child.wait(60) == -9
    said = "held more memory than the 32 MB that it may, and was ended"
    assert worker.end(expected=False) == Ending(said)


def test_what_takes_no_more_of_a_gpu_than_it_may_goes_on_and_the_watch_ends(tmp_path, monkeypatch):
    numbers = a_tool(tmp_path, monkeypatch, MEMORY + device_memory.CONTEXT)
    child, worker = watched(1, device=True)
    numbers.write_text(f"{child.pid}\n")
    time.sleep(0.5)
    assert child.poll() is None
    worker.end()
    until = time.monotonic() + 20
    while device_memory.OF_ALL._looks and time.monotonic() < until:
        time.sleep(0.05)
    assert not device_memory.OF_ALL._looks
