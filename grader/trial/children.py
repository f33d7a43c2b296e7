"""Starting children, with some kept warm where a next trial is likely, and ending them."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from grader.answers.clock import SECONDS
from grader.processes.ending import kill
from grader.trial import child
from grader.trial.plan import Plan

START_LIMIT = 120.0
NOT_LOADED = "PyTorch or the chapters cannot be loaded: `pytest -x` says more"
FORKS = sys.platform == "linux"


class StartError(Exception):
    """No child could be started: the kit itself, or PyTorch, cannot be loaded."""


class Child:
    """One process and the pipe to it."""

    def __init__(self, seconds: float) -> None:
        context = _context()
        self.connection, there = context.Pipe()
        self.process = context.Process(target=child.main, args=(there, seconds), daemon=True)
        try:
            self._start()
        except (EOFError, OSError) as problem:
            raise StartError(NOT_LOADED) from problem
        there.close()
        self._is_ready = False

    def _start(self) -> None:
        if FORKS:
            with _deaf():
                _server().ensure_running()
            self.process.start()  # waits for the first one until everything is loaded
        else:
            with _deaf():
                self.process.start()

    def wait(self) -> None:
        """Wait until it has loaded everything.

        Raises:
            StartError: it ended before that.
        """
        if not self._is_ready:
            self._is_ready = self.next(START_LIMIT) == child.READY
        if not self._is_ready:
            self.end()
            raise StartError(NOT_LOADED)

    def next(self, seconds: float) -> Any:
        """Return its next message; TimeoutError or EOFError, as values, if there is none."""
        try:
            return self.connection.recv() if self.connection.poll(seconds) else TimeoutError()
        except (EOFError, OSError):
            return EOFError()

    def kill(self) -> None:
        """End the process, and on Linux and macOS what it started."""
        kill(self.process)

    def end(self) -> None:
        """End the process and close the pipe to it."""
        self.kill()
        self.process.join()
        self.connection.close()


class Children:
    """Gives a fresh child for each trial.

    Args:
        seconds: the time limit of a check; None: the usual one.
        spare: whether to keep some ready for the next trials.
    """

    def __init__(self, seconds: float | None = None, *, spare: bool = False) -> None:
        self.seconds = seconds or SECONDS
        # where a child takes seconds to start, what follows on a save must not use up the only one
        self._wanted = (1 if FORKS else 2) if spare else 0
        self._spares: list[Child] = []
        self._lock = threading.Lock()

    def fresh(self) -> Child:
        """Return a child that has run nothing yet.

        Raises:
            StartError: none can be started.
        """
        with self._lock:
            made = self._spares.pop(0) if self._spares else None
            if made is not None and not made.process.is_alive():
                made.end()
                made = None
            made = made or Child(self.seconds)
        made.wait()
        return made

    def plan(self) -> Plan:
        """Ask a child what there is to do; it stays ready for the first trial.

        Raises:
            StartError: none can be started.
        """
        first = self.fresh()
        first.connection.send(child.PLAN)
        said = first.next(START_LIMIT)
        if not isinstance(said, Plan):
            first.end()
            raise StartError(NOT_LOADED)
        with self._lock:
            self._spares.append(first)
        return said

    def prepare(self) -> None:
        """Start the next ones, as many as are to be kept ready."""
        with self._lock:
            while len(self._spares) < self._wanted:
                self._spares.append(Child(self.seconds))

    def close(self) -> None:
        """End those that are kept."""
        with self._lock:
            self._wanted = 0
            while self._spares:
                self._spares.pop().end()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Start a process that does not hear Ctrl-C, not even while it is loading."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # it would begin to listen again, if it began below
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _server() -> Any:
    from multiprocessing import forkserver  # not to be had on Windows

    return forkserver


def _context() -> Any:
    """Fork children from a warm server where that is safe, start them afresh elsewhere.

    On macOS the system's own libraries may have started threads, and Windows cannot fork: there
    it is the child that is kept ready which makes a trial quick.
    """
    if not FORKS:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["grader.trial.warm"])
    return context
