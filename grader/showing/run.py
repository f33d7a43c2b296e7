"""Waiting for the process that runs the answer, with a clock of its own."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

from grader.pictures.model import Picture, unpack
from grader.showing import child
from grader.showing.child import Request

START = 120.0
# longer than the child's own clock, which can say where the answer is stuck
GRACE = 3.0
LARGEST = 2**26


class ShowError(Exception):
    """Nothing could be drawn; the sentence says why."""


def draw(request: Request) -> list[Picture]:
    """Draw the pictures of a function, or of all functions of a chapter, in a process of its own.

    Raises:
        LookupError: no chapter or function is called so, or there is no such folder.
        ShowError: the process could not be started, or the drawing itself failed.
    """
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=child.main, args=(writer, request), daemon=True)
    process.start()
    writer.close()
    try:
        return _gather(reader, process, request)
    finally:
        _end(process)
        reader.close()


def _gather(reader: Connection, process: Any, request: Request) -> list[Picture]:
    done: list[Picture] = []
    at, sofar, limit = "", Picture(request.name), START
    while True:
        message = _next(reader, limit)
        if message is None:
            return [*done, _broken_off(sofar, at, process, request.seconds)]
        if "at" in message:
            at, sofar = message["at"], unpack(message["picture"])
            limit = request.seconds + GRACE
        elif "done" in message:
            done.append(unpack(message["done"]))
        elif "late" in message:
            return [*done, _stopped(sofar, message["message"])]
        elif "problem" in message:
            raise LookupError(message["problem"])
        elif "failed" in message:
            raise ShowError(
                f"the drawing itself failed, which is not your mistake:\n{message['failed']}"
            )
        else:
            return done


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


def _broken_off(sofar: Picture, at: str, process: Any, seconds: float) -> Picture:
    process.join(0.5)
    if not at:
        raise ShowError(f"the process that draws could not be started (status {process.exitcode})")
    if process.exitcode is None:
        return _stopped(sofar, f"{at} did not come back in {seconds:g} s, and was ended.")
    return _stopped(
        sofar, f"{at} ended its process, with status {process.exitcode}: os._exit or a crash."
    )


def _stopped(picture: Picture, message: str) -> Picture:
    picture.trouble = message.splitlines()
    picture.state = "stopped"
    return picture


def _end(process: Any) -> None:
    if hasattr(os, "killpg") and process.pid is not None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError, ValueError):
        process.kill()
    process.join()
