"""A limit on the time that an answer takes, on every system as far as it goes.

What counts is the processor's time: on a machine that is busy with something else, or slow, nobody
loses a check. An answer that only waits is ended as well, but later.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from grader.trouble import TimeLimit

# seconds of the processor that a check may take, and how many times that may pass on the wall
SECONDS = 10.0
WALL = 4.0
# seconds on the wall between TimeLimit and the end of all patience
GRACE = 5.0
LOOKS = 0.25


@contextlib.contextmanager
def limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise TimeLimit in what runs for too long, or waits.

    By signals where there are signals and this is the main thread. Elsewhere the exception is left
    for the thread to find, which it does only between two steps of Python.
    """
    if signals_come():
        with processor_limit(seconds), _by_signal("SIGALRM", "ITIMER_REAL", seconds * WALL):
            yield
    else:
        watch = Timekeeper()
        with watch.over(seconds, seconds * WALL, ring=True):
            yield
        watch.end()


def signals_come() -> bool:
    """Tell whether a signal can interrupt what runs here: not on Windows, nor in other threads."""
    main = threading.current_thread() is threading.main_thread()
    return hasattr(signal, "setitimer") and main


@contextlib.contextmanager
def processor_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise TimeLimit in what uses the processor for too long, where signals can tell."""
    if signals_come():
        with _by_signal("SIGPROF", "ITIMER_PROF", seconds):
            yield
    else:
        yield


@contextlib.contextmanager
def _by_signal(name: str, timer: str, seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TimeLimit

    number, clock = getattr(signal, name), getattr(signal, timer)
    before = signal.signal(number, ring)
    signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(number, before)


@dataclass
class _Run:
    """What is being watched: in which thread, until when, and whether its time is up already."""

    thread: int
    due: float
    latest: float
    ring: bool
    is_late: bool = False

    def look(self) -> bool:
        """Leave TimeLimit when the time is up; tell whether it has not been heeded since."""
        now = time.monotonic()
        if self.is_late:
            return now > self.latest
        if time.process_time() > self.due or now > self.latest:
            self.is_late, self.latest = True, now + GRACE
            if self.ring:
                _raise_in(self.thread, TimeLimit)
        return False


class Timekeeper:
    """A thread that looks at the time of what runs in another one.

    Args:
        lost: called with what runs there when TimeLimit has not ended it within GRACE.
    """

    def __init__(self, lost: Callable[[FrameType | None], None] | None = None) -> None:
        self._lost = lost
        self._run: _Run | None = None
        self._turn, self._ended = threading.Lock(), threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    @contextlib.contextmanager
    def over(self, seconds: float, wall: float, *, ring: bool) -> Iterator[None]:
        """Watch what runs in this thread; `ring` says whether TimeLimit has to come from here."""
        due, latest = time.process_time() + seconds, time.monotonic() + wall
        run = self._run = _Run(threading.get_ident(), due, latest, ring)
        try:
            yield
        finally:
            with contextlib.suppress(TimeLimit):  # it may arrive as late as here
                self.rest()
            if run.is_late and ring:
                _let_come()

    def rest(self) -> None:
        """Watch nothing any more: a debugger may take as long as it likes."""
        with self._turn:
            self._run = None

    def end(self) -> None:
        """End the thread."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(LOOKS):
            with self._turn:
                run = self._run
                is_lost = run is not None and run.look()
            if run is not None and is_lost and self._lost is not None:
                self._lost(sys._current_frames().get(run.thread))
                return


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Leave an exception for a thread to find."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _let_come() -> None:
    """Find what may have been left for this thread and was not found yet.

    Another one takes its place and is found at once. To take it back (with NULL) would leave the
    interpreter looking for it for ever, and a debugger hangs then at the next call.
    """
    with contextlib.suppress(TimeLimit):
        _raise_in(threading.get_ident(), TimeLimit)
        for _ in range(1000):
            time.sleep(0)
