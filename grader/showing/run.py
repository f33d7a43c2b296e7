"""Waiting for the process that runs the answer, with a clock of its own."""

from __future__ import annotations

import json
import multiprocessing
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from grader.pictures.model import Picture, unpack
from grader.processes.ending import kill, said_of
from grader.showing import child
from grader.showing.child import Job, PictureRequest

START = 120.0
# longer than the child's own clock, which can say where the answer is stuck
GRACE = 3.0
LARGEST = 2**26


class ShowError(Exception):
    """Nothing could be drawn; the sentence says why."""


def draw(request: PictureRequest) -> list[Picture]:
    """Draw the pictures of a function, or of all functions of a chapter, in a process of its own.

    Raises:
        LookupError: no chapter or function is called so, or there is no such folder.
        ShowError: the process could not be started, or the drawing itself failed.
    """
    return drawn(request, request.name)


def drawn(job: Job, name: str) -> list[Picture]:
    """Return the pictures that a job has drawn, the last one with what stopped it.

    Args:
        job: what draws.
        name: of a picture that was not even begun.

    Raises:
        LookupError: what the job asks for is not there.
        ShowError: the process could not be started, or the drawing itself failed.
    """
    heard = run(job)
    pictures = [unpack(packed) for packed in heard.done]
    if heard.trouble:
        last = unpack(heard.sofar) if heard.sofar else Picture(name)
        last.trouble, last.state = heard.trouble.splitlines(), "stopped"
        pictures.append(last)
    return pictures


@dataclass
class Heard:
    """What a process had to say.

    Attributes:
        done: what it finished, piece by piece.
        sofar: the picture that it was at, as far as it got.
        trouble: why it did not come to its end; empty if it did.
    """

    done: list[Any] = field(default_factory=list)
    sofar: Any = None
    trouble: str = ""


def run(job: Job) -> Heard:
    """Let a process of its own do a job that calls the answer's functions.

    Raises:
        LookupError: what the job asks for is not there.
        ShowError: the process could not be started, or the kit itself failed.
    """
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=child.main, args=(writer, job), daemon=True)
    process.start()
    writer.close()
    try:
        return _gather(reader, process, job)
    finally:
        kill(process)
        process.join()
        reader.close()


def _gather(reader: Connection, process: Any, job: Job) -> Heard:
    heard, at, limit = Heard(), "", START
    while True:
        message = _next(reader, limit)
        if message is None:
            heard.trouble = _broken_off(at, process, job.seconds)
        elif "at" in message:
            at, heard.sofar = message["at"], message["picture"]
            limit = job.seconds + GRACE
            continue
        elif "done" in message:
            heard.done.append(message["done"])
            continue
        elif "late" in message:
            heard.trouble = message["message"]
        elif "problem" in message:
            raise LookupError(message["problem"])
        elif "failed" in message:
            raise ShowError(
                f"the kit itself failed, which is not your mistake:\n{message['failed']}"
            )
        return heard


def _next(reader: Connection, seconds: float) -> dict[str, Any] | None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if reader.poll(max(0.0, min(1.0, deadline - time.monotonic()))):
                message = json.loads(reader.recv_bytes(LARGEST))
                return message if isinstance(message, dict) else None
        except (EOFError, OSError, ValueError):
            return None
    return None


def _broken_off(at: str, process: Any, seconds: float) -> str:
    process.join(0.5)
    if not at:
        raise ShowError(f"the process that draws could not be started (status {process.exitcode})")
    if process.exitcode is None:
        return f"{at} did not come back in {seconds:g} s, and was ended."
    return f"{at} {said_of(process.exitcode)}."
