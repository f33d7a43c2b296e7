"""Pieces of work as jobs of a cluster: one that dies is run again, and all end when asked to."""

from __future__ import annotations

import contextlib
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grader.batch.executors import silent_children
from grader.batch.names import shortened
from grader.batch.stopping import StopAsked, heard
from grader.reports.parts_line import PartsLine

TRIES = 3
PAUSE = 0.5
ENDING = 10.0
# what a batch prints for each submission
COUNTED = re.compile(r"^ *(\d+)/\d+ ", re.MULTILINE)
TAIL = 4096


class Piece:
    """A piece of the work, in one job after the other until it is done.

    Attributes:
        name: what it is called.
        work: returns why it cannot be done, or nothing; raises where it was only interrupted.
        done: how many submissions have their results, as far as its logs say.
        lost: how many jobs in a row have died without getting any further.
    """

    def __init__(self, name: str, work: Callable[[], str]) -> None:
        self.name, self.work = name, work
        self.done = self.lost = self._before = 0
        self.job: Any = None

    def begin(self, job: Any) -> None:
        """Take note of its new job."""
        self.job, self._before = job, self.done

    def look(self) -> None:
        """Read off its job's log how far it is; what is done once is done."""
        counted = COUNTED.findall(_end_of(self.job.paths.stderr))
        self.done = max(self.done, int(counted[-1]) if counted else 0)

    def has_come_to_its_end(self) -> bool:
        """Tell whether it is done, once its job has ended.

        Raises:
            ValueError: it cannot be done.
        """
        # a job that has died leaves none; submitit would wait for it
        if self.job.paths.result_pickle.exists() and self.job.exception() is None:
            problem = self.job.result()
            if problem:
                raise ValueError(f"{self.name}: {problem}")
            return True
        self.lost = 1 if self.done > self._before else self.lost + 1
        if self.lost >= TRIES:
            raise ValueError(
                f"{self.name} was lost {self.lost} times in a row; its log is "
                f"{self.job.paths.stderr}; the same command goes on with what is graded"
            )
        return False


def spread(pieces: Sequence[Piece], executor: Any, room: int, line: PartsLine) -> None:
    """Run all pieces as jobs.

    Args:
        pieces: what there is to do.
        executor: submitit's.
        room: how many jobs there may be at a time.
        line: is told how far they are.

    Raises:
        ValueError: no jobs can be had, or a piece cannot be done, or is lost again and again.
        StopAsked: by a signal; no job is left.
    """
    waiting, running = deque(pieces), list[Piece]()
    asked: list[int] = []
    with heard(asked.append):
        try:
            while waiting or running:
                new = [waiting.popleft() for _ in range(min(room - len(running), len(waiting)))]
                running += new
                _submit(new, executor)
                time.sleep(PAUSE)
                ended = [piece for piece in running if piece.job.done()]
                for piece in running:
                    piece.look()
                if asked:
                    raise StopAsked(asked[0], sum(piece.done for piece in pieces))
                for piece in ended:
                    running.remove(piece)
                    if not piece.has_come_to_its_end():
                        line.say(f"{piece.name} was lost, and is taken again")
                        waiting.append(piece)
                over = len(pieces) - len(waiting) - len(running)
                line.show(sum(piece.done for piece in pieces), over)
        except BaseException:
            _cancel([piece for piece in running if piece.job is not None])
            raise


def _submit(pieces: Sequence[Piece], executor: Any) -> None:
    """Hand in an array of jobs."""
    if not pieces:
        return
    try:
        with silent_children():
            jobs = executor.submit_array([piece.work for piece in pieces])
    except (RuntimeError, OSError) as problem:  # submitit's own are RuntimeErrors
        said = shortened(str(problem)) or type(problem).__name__
        raise ValueError(f"--cluster: no jobs can be had: {said}") from problem
    for piece, job in zip(pieces, jobs, strict=True):
        piece.begin(job)


def _cancel(running: Sequence[Piece]) -> None:
    """End all jobs, and wait for it as long as a person may."""
    for piece in running:
        with contextlib.suppress(OSError):
            piece.job.cancel(check=False)
    deadline = time.monotonic() + ENDING
    while time.monotonic() < deadline and not all(piece.job.done() for piece in running):
        time.sleep(0.1)


def _end_of(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
