"""What a process has used of the processor, and how long it had to wait for one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

NANO = 1e-9


@dataclass(frozen=True)
class Used:
    """What a process has used until now.

    Attributes:
        processor: seconds that its threads have worked.
        delayed: seconds that its first thread would have worked, had a processor been free.
    """

    processor: float
    delayed: float


@dataclass(frozen=True)
class Held:
    """The memory of a process, in bytes.

    Attributes:
        now: what it holds.
        most: what it has held at most until now.
    """

    now: int
    most: int


def used_by(process: int) -> Used | None:
    """Return what a process has used, where that can be told: on Linux, while it lives."""
    try:
        # the number of a process's own clock, as clock_getcpuclockid(3) makes it
        processor = time.clock_gettime((~process << 3) | 2)
        facts = Path(f"/proc/{process}/schedstat").read_text(encoding="ascii").split()
        return Used(processor, int(facts[1]) * NANO)
    except (AttributeError, OSError, OverflowError, ValueError, IndexError):
        return None
