"""A user of its own for each worker, so that none owns anything or shares a count with another."""

from __future__ import annotations

import functools
import os
from pathlib import Path

# two ranges that no distribution gives to anyone (systemd's table of user ids): one with room for
# every number of a process, and a small one that is also there in containers with few users
_MANY, _MOST_PROCESSES = 0x70000000, 1 << 22
_FEW, _HOW_FEW = 60578, 606


def of_process() -> int:
    """Return the number of the user, and the group, that is this process's own.

    No two processes that run at the same time have the same, but perhaps where users are few.
    """
    process = int(os.readlink("/proc/self"))  # in its pid namespace it may have another number
    return _MANY + process if _many_users() else _FEW + process % _HOW_FEW


@functools.cache
def _many_users() -> bool:
    """Say whether the large range is there, in this user namespace."""
    ranges = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    return any(
        int(first) <= _MANY and int(first) + int(count) >= _MANY + _MOST_PROCESSES
        for first, _, count in ranges
    )


def become(user: int) -> None:
    """Turn this process into one of that user, for good.

    Raises:
        OSError: the kernel refused.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
