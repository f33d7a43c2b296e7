"""The end of a child process: ending it, and saying how it has ended."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from typing import Any

# Windows has no such signal
SIGKILL = getattr(signal, "SIGKILL", 9)


@dataclass(frozen=True)
class Ending:
    """How a process ended.

    Attributes:
        says: the end of a sentence; nothing if its end was expected.
        from_outside: whether somebody else ended it: the system for want of memory, or a user.
    """

    says: str = ""
    from_outside: bool = False


def kill(process: Any) -> None:
    """End a process of `multiprocessing`, and on Linux and macOS its group."""
    if hasattr(os, "killpg") and process.pid is not None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, SIGKILL)
    with contextlib.suppress(OSError, ValueError):
        process.kill()


def said_of(code: int | None, memory: str = "") -> str:
    """Say how a process ended that nobody has ended: by a crash, or by itself.

    Args:
        code: its status; minus a signal's number if that ended it.
        memory: what to add about the memory that it held.
    """
    if code is None or code >= 0:
        return f"ended its process by itself, with status {code}: os._exit or a crash"
    try:
        name = f"{signal.Signals(-code).name} ({signal.strsignal(-code)})"
    except ValueError:
        name = f"signal {-code}"
    return f"ended its process with {name}{memory}"


def ending(code: int | None, memory: int, limit: int, *, by_us: bool = False) -> Ending:
    """Say how a worker ended that was not expected to.

    Args:
        code: its status; minus a signal's number if that ended it.
        memory: the most memory that it held, in megabytes.
        limit: what it was allowed, in megabytes.
        by_us: whether it had not ended yet, and was ended now.
    """
    if by_us:
        return Ending("closed its end of the pipe")
    if code == -SIGKILL:  # no worker can do that to itself
        return Ending("was ended from outside, with SIGKILL", from_outside=True)
    held = f"; it held {memory} MB of {limit}" if memory > limit // 2 else ""
    return Ending(said_of(code, held))
