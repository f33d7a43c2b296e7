"""Limits of one process: memory, threads, files and their sizes."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from grader.sandbox.isolation import Isolation
from grader.sandbox.walls import Walls

_MEGABYTE = 1 << 20
# what a worker maps without using memory for it: libraries that it loads later, its threads' stacks
_MAPPED = 512 * _MEGABYTE
# memory of the host that the drivers of a GPU may take for themselves; far less was seen (828 MB,
# torch with it)
_FOR_GPU = 8192 * _MEGABYTE
_FILES_FOR_GPU = 1024


def work_out(walls: Walls, isolation: Isolation) -> dict[int, int]:
    """Return the limits of this process; on Linux, while it still sees /proc."""
    import resource

    chosen = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: walls.scratch * _MEGABYTE,
        resource.RLIMIT_NOFILE: max(walls.files, _FILES_FOR_GPU) if walls.gpu else walls.files,
    }
    if sys.platform == "linux":
        chosen |= _of_linux(walls)
        if isolation.threads != "none":
            others = _tasks_of_user() if isolation.threads == "shared" else 0
            chosen[resource.RLIMIT_NPROC] = others + walls.threads
    return chosen


def put_up(chosen: dict[int, int]) -> None:
    """Limit this process, for good.

    Raises:
        OSError: a limit was refused.
        ValueError: a limit was refused as being above one that is there.
    """
    import resource

    for kind, most in chosen.items():
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))


def _of_linux(walls: Walls) -> dict[int, int]:
    import resource

    more = walls.memory * _MEGABYTE
    now = sizes()
    chosen = {
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_NICE: 0,
        resource.RLIMIT_SIGPENDING: 256,
        resource.RLIMIT_DATA: now["VmData"] + more + _FOR_GPU * walls.gpu,
    }
    if not walls.gpu:  # a GPU's drivers reserve far more addresses than there is memory
        chosen[resource.RLIMIT_AS] = now["VmSize"] + more + _MAPPED
        chosen[resource.RLIMIT_MEMLOCK] = 0
    return chosen


def sizes(process: int | str = "self") -> dict[str, int]:
    """Return what a process has mapped and what it holds, in bytes, by the kernel's names.

    Raises:
        OSError: it is gone.
    """
    rows = (line.split() for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if row[-1] == "kB"}


def _tasks_of_user() -> int:
    """Count the threads of all processes of this user."""
    user = os.getuid()
    count = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user:
                    # a folder has a link from each folder in it, besides its own two
                    count += os.stat(f"{entry.path}/task").st_nlink - 2
            except OSError:  # it has ended
                continue
    return count


def be_first_to_go() -> None:
    """Have the kernel end this process before others when memory runs out, if it lets itself."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
