"""Reading submissions in a process with limits: what is handed in can be made to take for ever.

Unpacking and parsing are done by code that was not written for hostile data. Here they may take
what they want of a process that is ended when it is too much, and replaced for the next one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple

from grader.batch.reading import held, is_plain, read
from grader.batch.sources import Told, Unusable
from grader.batch.uploads import Upload
from grader.processes.child import end_with_parent
from grader.written.shapes import Shapes, shapes

# for a submission: seconds of the processor, and bytes of addresses
SECONDS, MEMORY = 10, 2**30
# how many times that may pass on the wall; where the system cannot tell the processor's, it decides
WALL = 3 if sys.platform == "win32" else 10
START_LIMIT = 60.0
TOO_MUCH = (
    f"reading it took more than {SECONDS} s or {MEMORY // 2**30} GB: hand in plain ex*.py, or "
    "notebooks with less in them"
)
Names = Mapping[str, Sequence[str]]


class Listing(NamedTuple):
    """A submission of which only the names of what it holds are asked for."""

    place: Upload


Asked = Upload | dict[str, bytes] | Listing


class SubmissionReader:
    """Reads one submission after the other; the process is started when it is first needed.

    One thread uses it; any thread may stop it.

    Args:
        seconds: of the processor, for each submission.
        memory: how many bytes of addresses the process may have.
    """

    def __init__(self, seconds: int = SECONDS, memory: int = MEMORY) -> None:
        self._seconds, self._memory = seconds, memory
        self._process: SpawnProcess | None = None
        self._mine: Connection

    def __enter__(self) -> SubmissionReader:
        """Start nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, if there is one."""
        self.stop()
        if self._process is not None:
            self._process.join()
            self._mine.close()
            self._process = None

    @property
    def pid(self) -> int | None:
        """The number of the process, while there is one."""
        return self._process.pid if self._process is not None else None

    def read(self, path: Upload, told: Told | None = None) -> dict[str, bytes]:
        """Read the sources of a submission's chapters, by names that end in `.py`.

        Args:
            path: a folder, an archive, or loose files.
            told: is told of files that count under another name, or do not count.

        Raises:
            Unusable: with the reason as a sentence that can be printed anywhere.
            OSError: no process can be started.
        """
        if is_plain(path):
            return read(path, told=told)
        from grader.chapters import catalogue  # it imports torch, which the process does without

        try:
            whole = path.absolute() if isinstance(path, Path) else path
            return self._ask(whole, catalogue().names(), told or Told())
        except (EOFError, ConnectionError):
            self.__exit__()
            raise Unusable(TOO_MUCH) from None

    def shapes(self, files: Mapping[str, bytes]) -> Shapes:
        """Return how the functions of a submission are written.

        Nothing if that cannot be told, or takes too much: it costs nobody a point.

        Args:
            files: what `read` gave.
        """
        from grader.chapters import catalogue

        try:
            found: Shapes = self._said(dict(files), catalogue().names())
        except (EOFError, OSError):
            self.__exit__()
            return {}
        except RuntimeError:  # what the process said went wrong
            return {}
        return found

    def held(self, path: Upload) -> list[str]:
        """List the names of what was handed in; nothing if that cannot be told, or takes too much.

        Args:
            path: a folder, an archive, or loose files.
        """
        whole = path.absolute() if isinstance(path, Path) else path
        try:
            return list(self._said(Listing(whole), {}))
        except (EOFError, OSError):
            self.__exit__()
            return []
        except (Unusable, RuntimeError):
            return []

    def stop(self) -> None:
        """End the process, from any thread."""
        process = self._process
        if process is not None:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                process.kill()

    def _ask(self, path: Upload, names: Names, told: Told) -> dict[str, bytes]:
        found: dict[str, bytes]
        found, theirs = self._said(path, names)
        told.notes += theirs.notes
        told.leave(theirs.unused)
        return found

    def _said(self, about: Asked, names: Names) -> Any:
        if self._process is None or not self._process.is_alive():
            self.__exit__()
            self._start()
        self._mine.send((about, names))
        if not self._mine.poll(WALL * self._seconds):
            raise EOFError
        said = self._mine.recv()
        if isinstance(said, Exception):
            raise said
        return said

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._mine, theirs = context.Pipe()
        limits = (theirs, self._seconds, self._memory)
        self._process = context.Process(target=_serve, args=limits, daemon=True)
        self._process.start()
        theirs.close()
        try:
            if self._mine.poll(START_LIMIT):
                self._mine.recv()
                return
        except (EOFError, ConnectionError):
            pass
        self.__exit__()
        raise OSError("the process that reads submissions does not start")


def _serve(connection: Connection, seconds: int, memory: int) -> None:
    """Be the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    _limit_memory(memory)
    connection.send(None)
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            about, names = connection.recv()
            _limit_time(seconds)
            try:
                said = _answer(about, names)
            except MemoryError:
                return
            except Unusable as problem:
                said = Unusable(str(problem))
            except Exception as problem:
                said = RuntimeError(f"{type(problem).__name__}: {problem}"[:500])
            connection.send(said)


def _answer(about: Asked, names: Names) -> object:
    """Read a submission, list what it holds, or say how what was read is written."""
    if isinstance(about, dict):
        return shapes(about, names)
    if isinstance(about, Listing):
        return held(about.place)
    told = Told()
    return read(about, names, told), told


def _limit_memory(most: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _limit_time(seconds: int) -> None:
    """Let the system end this process, whatever it is at, when it has used what it may."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        end, most = (
            int(time.process_time()) + seconds + 1,
            resource.getrlimit(resource.RLIMIT_CPU)[1],
        )
        resource.setrlimit(resource.RLIMIT_CPU, (end, most))
