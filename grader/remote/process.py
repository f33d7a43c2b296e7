"""The process that an answer runs in, as the judge holds it."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Protocol

from grader.remote.channel import Channel
from grader.remote.used import Held, Used

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


class Process(Protocol):
    """A worker that has been started.

    Attributes:
        channel: the judge's end of the pipe.
    """

    channel: Channel

    def used(self) -> Used | None:
        """Return what it has used of the processor, where that can be told."""

    def held(self) -> Held | None:
        """Return the memory that it holds, where that can be told."""

    def end(self, *, expected: bool = True) -> Ending:
        """End it with all that it has started; say how it had ended, if that was not expected."""


def ending(code: int | None, memory: int, limit: int, *, by_us: bool = False) -> Ending:
    """Say how a process ended that was not expected to.

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
    if code is not None and code < 0:
        try:
            name = f"{signal.Signals(-code).name} ({signal.strsignal(-code)})"
        except ValueError:
            name = f"signal {-code}"
        held = f"; it held {memory} MB of {limit}" if memory > limit // 2 else ""
        return Ending(f"ended its process with {name}{held}")
    return Ending(f"ended its process by itself, with status {code}: os._exit or a crash")
