"""A limit on the time that a call in a notebook takes, on every system as far as it goes."""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from collections.abc import Iterator

from grader.judging.outcome import TimeLimit


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TimeLimit in what runs for too long.

    By a signal where there are signals and this is the main thread: it also ends a wait. Elsewhere
    the exception is left for the thread to find, which it does only between two steps of Python.
    """
    main = threading.current_thread() is threading.main_thread()
    if hasattr(signal, "setitimer") and main:
        with _by_signal(seconds):
            yield
    else:
        with _by_thread(seconds):
            yield


@contextlib.contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
