"""Signals that ask the program to end, turned into something that a batch can wait for."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

ENDS = ("SIGINT", "SIGTERM", "SIGHUP")


class StopAsked(Exception):
    """The user, or the system, asked the batch to end.

    Attributes:
        number: of the signal.
        done: how many submissions had their result.
    """

    def __init__(self, number: int, done: int) -> None:
        super().__init__(number, done)
        self.number, self.done = number, done


class BatchStopped(Exception):
    """The batch was stopped while a submission was judged; of that one nothing is known."""


class NoJudge(Exception):
    """No submission at all can be graded here; the sentence says why."""


@contextlib.contextmanager
def heard(act: Callable[[int], None]) -> Iterator[None]:
    """Call `act` with the number of each signal that asks to end, instead of ending at once."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ENDS:
            number = getattr(signal, name, None)
            # what a shell ignores for us (nohup, a background job) stays ignored
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, lambda number, _: act(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def signals_are_for_others() -> None:
    """Keep Ctrl-C from this thread, and so from the processes that it will start.

    A terminal sends it to all of them, and one that is only just starting would print a traceback.
    """
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # when it starts, it lets Ctrl-C through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
