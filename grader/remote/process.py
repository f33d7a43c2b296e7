"""The process that an answer runs in, as the judge holds it."""

from __future__ import annotations

from typing import Protocol

from grader.processes.ending import Ending
from grader.remote.channel import Channel
from grader.remote.used import Held, Used


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
