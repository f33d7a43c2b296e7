"""A student's terminal: a command on a pseudo-terminal, and what is to be seen on its screen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte

from grader import places


class Terminal:
    """Runs `python -m grader` with these arguments as the program of a terminal."""

    def __init__(self, *arguments: object, rows: int = 40, columns: int = 100, **variables: str):
        self.master, slave = pty.openpty()
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.resize(rows, columns)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL, *map(str, arguments)],
            stdin=slave, stdout=slave, stderr=slave, cwd=places.ROOT, start_new_session=True,
            env={**_environment(), "TERM": "xterm-256color", **variables},
        )  # fmt: skip
        os.close(slave)

    def resize(self, rows: int, columns: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self.master, keys.encode())

    def look(self, seconds: float) -> str:
        """Let some time pass, and look."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self._read(left):
            pass
        return self.text

    def until(self, said: str, seconds: float = 20.0) -> str:
        """Wait until a regular expression is on the screen, and nothing more is drawn."""
        end = time.monotonic() + seconds
        while not re.search(said, self.text):
            assert time.monotonic() < end, f"the screen never showed {said!r}, but:\n{self.text}"
            assert self._read(0.1), f"it has ended, without {said!r}:\n{self.text}"
        before, last = "", time.monotonic() + 3
        while before != self.text and time.monotonic() < last:
            before = self.text
            self.look(0.2)
        return self.text

    def ended(self, seconds: float = 10.0) -> int:
        """Wait until it has ended, and return its status."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end:\n{self.text}"
            self._read(0.1)
        return self.process.returncode

    def family(self) -> set[int]:
        """Return the process, and all that it has started."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
        family = {self.process.pid}
        while found := {child for child, parent in parents.items() if parent in family} - family:
            family |= found
        return family

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], max(seconds, 0))[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self._stream.feed(data)
        return bool(data)


def _environment() -> dict[str, str]:
    """Return the environment without a size of the terminal, which pytest-xdist makes up."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


def left_of(family: set[int]) -> list[str]:
    """Say which of these processes are still there, a moment later."""
    left: list[str] = []
    for _ in range(30):
        left = [said for number in family if (said := _alive(number))]
        if not left:
            break
        time.sleep(0.1)
    return left


def _alive(number: int) -> str:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
        words = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
    return "" if state == "Z" else f"{number} {words}"


# as a shell does it: the terminal becomes the program's own, so that Ctrl-C reaches it
_OWN_TERMINAL = """
import fcntl, runpy, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv[0] = "grader"
runpy.run_module("grader", run_name="__main__", alter_sys=True)
"""
