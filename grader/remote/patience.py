"""How long the judge waits for a worker: by the time that the worker takes, not by the wall.

What counts is the processor's time. Time in which the worker only waited for something counts for
less: where it waited for threads of its own, these may have waited for a processor. Time in which
other processes had its processor counts for nothing: no verdict hangs on how busy the machine is.
The wall bounds it, loosely.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from grader.answers.clock import WALL
from grader.remote.process import Process
from grader.remote.used import Used

# seconds in which a worker may still say by itself that its time was up
GRACE = 2.0
# so many times its limit may a check take on the wall
LOOSELY = 30.0
# by this part of the limit on the wall it is worth while to look what of it was the worker's
NOTABLE = 0.1
# an alarm that is set in the worker rings no sooner
SOONEST = 0.01
OVERDUE = 0.25


class Stretch:
    """A time in which a worker may take so many seconds.

    Attributes:
        seconds: what it may take.
        waited: how long it was waited for, on the wall.
    """

    def __init__(self, seconds: float, since: Used | None) -> None:
        self.seconds, self.waited = seconds, 0.0
        self._since = since

    def taken(self, now: Used | None) -> float:
        """Return how much of it the worker has taken, from what it has used until now."""
        return max(self._worked(now), self.lasted(now) / WALL)

    def lasted(self, now: Used | None) -> float:
        """Return how long the worker has worked or waited, as far as that can be told."""
        if now is None or self._since is None:
            return self.waited
        return max(self._worked(now), self.waited - (now.delayed - self._since.delayed))

    def _worked(self, now: Used | None) -> float:
        if now is None or self._since is None:
            return 0.0
        return now.processor - self._since.processor

    def settled(self) -> Stretch:
        """Return what is left of it when its worker is gone."""
        return Stretch(self.seconds - self.taken(None), None)

    def goes_on(self, since: Used | None, now: Used | None) -> None:
        """Leave out what was used meanwhile."""
        if self._since is not None and since is not None and now is not None:
            self._since = Used(
                self._since.processor + now.processor - since.processor,
                self._since.delayed + now.delayed - since.delayed,
            )


class Patience:
    """Waits for one worker after the other.

    Attributes:
        seconds: what an answer may take in one check.
        total: how long its workers have worked or waited in all, up to the check that goes on.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.total = seconds, 0.0
        self._process: Process | None = None
        self._stretches = [Stretch(seconds, None)]
        self._began: float | None = None

    def started(self, process: Process) -> None:
        """Wait for another worker from now on."""
        self._process = process
        self.begin()

    def lost(self) -> None:
        """Take note that the worker is gone."""
        self.begin()
        self._process = None
        self._stretches[1:] = [one.settled() for one in self._stretches[1:]]

    def begin(self) -> None:
        """Begin a check."""
        now = self._used()
        self.total += self._stretches[0].lasted(now)
        self._stretches[0] = Stretch(self.seconds, now)

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Bound what the worker may take inside."""
        self._stretches.append(Stretch(seconds, self._used()))
        try:
            yield
        finally:
            del self._stretches[1:]

    @contextlib.contextmanager
    def apart(self, seconds: float | None = None) -> Iterator[None]:
        """Count what the worker takes inside by itself; by default it may take what a check may."""
        since = self._used()
        before, self._stretches = self._stretches, [Stretch(seconds or self.seconds, since)]
        try:
            yield
        finally:
            now = self._used()
            self.total += self._stretches[0].lasted(now)
            self._stretches = before
            for stretch in before:
                stretch.goes_on(since, now)

    @contextlib.contextmanager
    def turn(self, *, workers: bool) -> Iterator[None]:
        """Let it be the worker's turn inside, or the judge's."""
        before = self._began
        self._settle(workers=workers)
        try:
            yield
        finally:
            self._settle(workers=before is not None)

    def ms(self) -> int:
        """Return how long the worker may take now, in milliseconds.

        Raises:
            TimeoutError: its time was up long ago, and it has not heard the alarm, or only waits.
        """
        left = self._left()
        if left < -OVERDUE:
            raise TimeoutError
        return int(1000 * max(SOONEST, left))

    def deadline(self) -> float:
        """Return until when to wait before asking for `more`, on the monotonic clock."""
        return time.monotonic() + max(SOONEST, self._left() + GRACE)

    def more(self) -> float:
        """Return until when to wait further.

        Raises:
            TimeoutError: the worker has taken more than it may.
        """
        self._settle(workers=self._began is not None)
        left = self._left(exactly=True) + GRACE
        longest = max(one.waited / one.seconds for one in self._stretches)
        if left <= 0 or longest > LOOSELY:
            raise TimeoutError
        return time.monotonic() + max(SOONEST, left)

    def _left(self, *, exactly: bool = False) -> float:
        exactly = exactly or any(one.waited > NOTABLE * one.seconds for one in self._stretches)
        if not exactly:  # as much as that costs nothing to know
            return min(one.seconds - one.waited for one in self._stretches)
        now = self._used()
        return min(one.seconds - one.taken(now) for one in self._stretches)

    def _settle(self, *, workers: bool) -> None:
        now = time.monotonic()
        if self._began is not None:
            for stretch in self._stretches:
                stretch.waited += now - self._began
        self._began = now if workers else None

    def _used(self) -> Used | None:
        return None if self._process is None else self._process.used()
