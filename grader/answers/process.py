"""The process that an answer runs in, as the judge holds it."""

from __future__ import annotations

import signal
from typing import Protocol

from grader.answers.channel import Channel


class Process(Protocol):
    """A worker that has been started.

    Attributes:
        channel: the judge's end of the pipe.
    """

    channel: Channel

    def end(self, *, expected: bool = True) -> str:
        """End it with all that it has started; say how it had ended, if that was not expected."""


def last_words(code: int | None, memory: int, limit: int) -> str:
    """Say how a process ended.

    Args:
        code: its status; minus a signal's number if that ended it.
        memory: the most memory that it held, in megabytes.
        limit: what it was allowed, in megabytes.
    """
    if code is not None and code < 0:
        try:
            name = f"{signal.Signals(-code).name} ({signal.strsignal(-code)})"
        except ValueError:
            name = f"signal {-code}"
        held = f"; it held {memory} MB of {limit}" if memory > limit // 2 else ""
        return f"ended its process with {name}{held}"
    return f"ended its process by itself, with status {code}: os._exit or a crash"
