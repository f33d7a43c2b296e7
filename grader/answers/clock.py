"""A limit on the time that an answer takes, on every system as far as it goes.

What counts is the processor's time: on a machine that is busy with something else, or slow, nobody
loses a check. An answer that only waits is ended as well, but later.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from collections.abc import Iterator

from grader.answers.trouble import TimeLimit

# seconds of the processor that a check may take, and how many times that may pass on the wall
SECONDS = 10.0
WALL = 4.0


@contextlib.contextmanager
def limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise TimeLimit in what runs for too long, or waits.

    By signals where there are signals and this is the main thread. Elsewhere the exception is left
    for the thread to find, which it does only between two steps of Python.
    """
    if _signals_come():
        with processor_limit(seconds), _by_signal("SIGALRM", "ITIMER_REAL", seconds * WALL):
            yield
    else:
        with _by_thread(seconds):
            yield


@contextlib.contextmanager
def processor_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Raise TimeLimit in what uses the processor for too long, where signals can tell."""
    if _signals_come():
        with _by_signal("SIGPROF", "ITIMER_PROF", seconds):
            yield
    else:
        yield


def _signals_come() -> bool:
    main = threading.current_thread() is threading.main_thread()
    return hasattr(signal, "setitimer") and main


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


@contextlib.contextmanager
def _by_thread(seconds: float) -> Iterator[None]:
    here = ctypes.c_ulong(threading.get_ident())
    turn, running = threading.Lock(), True

    def ring() -> None:
        with turn:
            if running:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(TimeLimit))

    clock = threading.Timer(seconds, ring)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()
        with turn:
            running = False
