"""A GPU's memory, seen from outside: `nvidia-smi` says how much of it each process has taken.

PyTorch's own limit binds PyTorch's allocator alone. An answer that asks the driver by itself, or
has a library do so, is seen here, under the number that its process has outside of all namespaces.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Callable

# megabytes that a context takes before anything is made: 816 on an H100 and an H200
CONTEXT = 1536
EVERY = 1.0  # seconds
PATIENCE = 20.0
TOOL = "nvidia-smi"
_ASKS = ("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")


class DeviceMemory:
    """Watches processes, all of them in one thread that ends with the last.

    Where there is no `nvidia-smi`, as for other accelerators, nothing is watched.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[int, Callable[[], None]]] = {}
        self._looks = False

    def watch(self, process: int, megabytes: int, too_much: Callable[[], None]) -> None:
        """Call `too_much` once a process has taken more than its context and these megabytes."""
        tool = shutil.which(TOOL)
        if tool is None:
            return
        with self._lock:
            self._watched[process] = megabytes + CONTEXT, too_much
            if not self._looks:
                self._looks = True
                threading.Thread(target=self._look, args=(tool,), daemon=True).start()

    def forget(self, process: int) -> None:
        """Watch a process no more."""
        with self._lock:
            self._watched.pop(process, None)

    def _look(self, tool: str) -> None:
        pause = threading.Event()
        while not pause.wait(EVERY):
            for process, taken in _taken(tool).items():
                with self._lock:
                    most, too_much = self._watched.get(process, (taken, None))
                if too_much is not None and taken > most:
                    too_much()
            with self._lock:
                if not self._watched:
                    self._looks = False
                    return


def _taken(tool: str) -> dict[int, int]:
    """Return how many megabytes each process has taken; nothing if that cannot be found out."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            [tool, *_ASKS], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
            timeout=PATIENCE,
        ).stdout  # fmt: skip
        rows = [line.replace(" ", "").split(",") for line in said.splitlines()]
        return {int(row[0]): int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    return {}


OF_ALL = DeviceMemory()
