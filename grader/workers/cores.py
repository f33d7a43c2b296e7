"""One processor core for two processes that take turns: neither has to be woken from far."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

# in what follows the name of the program in /proc/self/stat
PROCESSOR = 36


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep to the core that this process is on, which the system has chosen; where it can be told.

    A worker that is started meanwhile keeps to it as well.
    """
    before = mine()
    keep_to(before & {_now()})
    try:
        yield
    finally:
        keep_to(before)


def mine() -> set[int]:
    """Return the cores that this process may use; none where that cannot be told."""
    return set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set()


def keep_to(cores: Collection[int]) -> None:
    """Use no others, if that may be asked for."""
    if cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cores)


def _now() -> int:
    try:
        said = Path("/proc/self/stat").read_text(encoding="utf-8")
        return int(said.rpartition(")")[2].split()[PROCESSOR])
    except (OSError, IndexError, ValueError):
        return -1
