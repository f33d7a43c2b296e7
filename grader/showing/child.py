"""The process that runs the answer: it sends what is drawn so far before each step.

So whoever waits has all but the step that hangs or crashes, and knows which one that was.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
import types
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from grader.pictures.model import Picture, pack
from grader.processes.child import be_quiet

if TYPE_CHECKING:
    from grader.chapters import World


MOST_WORDS = 32


class Job(Protocol):
    """What a process is to do, and how many seconds one call of the answer's may take."""

    @property
    def seconds(self) -> float:
        """The limit of a call."""

    def work(self, line: TimedSender) -> None:
        """Do it, and send what comes of it."""


def own_words(text: str | None) -> tuple[str, ...] | None:
    """Split a text into words to draw with; None if there is none.

    Raises:
        ValueError: it holds no word, or more than a picture has room for.
    """
    if text is None:
        return None
    words = tuple(text.split())
    if not words:
        raise ValueError('a text is of words: "not so bad"')
    if len(words) > MOST_WORDS:
        raise ValueError(f"a text is of at most {MOST_WORDS} words here, not {len(words)}")
    return words


@dataclass(frozen=True)
class PictureRequest:
    """What to draw.

    Attributes:
        name: a function or a chapter.
        answers: the folder of answers; None for the student's exercises.
        words: one's own, for those pictures that are about words.
        against: whether to lay beside it what the documents print.
        seconds: how long one call of the answer's may take.
    """

    name: str
    answers: str | None = None
    words: tuple[str, ...] | None = None
    against: bool = False
    seconds: float = 10.0

    def work(self, line: TimedSender) -> None:
        """Draw."""
        _draw_all(self, line)


def main(connection: Connection, job: Job) -> None:
    """Do what is asked for, sending one JSON message for each step."""
    be_quiet()  # what the answer prints, or asks for, is kept away from the picture
    line = TimedSender(connection, job.seconds)
    try:
        job.work(line)
        line.send({"end": True})
    except LookupError as problem:
        line.send({"problem": str(problem.args[0])})
    except Exception:
        line.send({"failed": traceback.format_exc(-2)})
    connection.close()
    os._exit(0)


class TimedSender:
    """The line to whoever waits, and the clock that stops a call of the answer's."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection, self.seconds = connection, seconds
        self.picture = Picture("")
        self.world: Any = None
        self._turn = threading.Lock()
        self._main = threading.get_ident()
        self._clock: threading.Timer | None = None

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        with self._turn:
            self._connection.send_bytes(json.dumps(message).encode())

    def announce(self, full: str | None) -> None:
        """Say what runs next and start its clock; None: it is back."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        if full is not None:
            self.send({"at": full, "picture": pack(self.picture)})
            self._clock = threading.Timer(self.seconds, self._late, (full,))
            self._clock.daemon = True
            self._clock.start()

    def _late(self, full: str) -> None:
        """Say where the answer is stuck, and end this process, also where nobody listens."""
        try:
            self._say_late(full)
        finally:
            os._exit(0)

    def _say_late(self, full: str) -> None:
        from grader.judging.explain import explain_time_limit
        from grader.judging.outcome import Outcome
        from grader.showing.workbench import stand_in_check

        frame: types.FrameType | None = sys._current_frames().get(self._main)
        folder = str(self.world.folder)
        stack = [f for f in traceback.extract_stack(frame) if f.filename.startswith(folder)]
        guilty, step = None, frame
        while step is not None and guilty is None:
            guilty, step = self.world.owner(step.f_code), step.f_back
        outcome = Outcome("timeout", frames=list(stack))
        message = explain_time_limit(stand_in_check(full), outcome, guilty or full)
        self.send({"late": full, "message": message})


def world_of(answers: str | None) -> World:
    """Open a folder of answers; None is the student's own.

    Raises:
        LookupError: there is no such folder.
    """
    import torch

    from grader import places
    from grader.chapters import World, catalogue

    torch.set_num_threads(1)
    folder = Path(answers).resolve() if answers else places.EXERCISES
    if not folder.is_dir():
        raise LookupError(f"--answers: there is no folder {folder}")
    return World(folder, catalogue().names())


def _draw_all(request: PictureRequest, line: TimedSender) -> None:
    import torch

    from grader.chapters import catalogue
    from grader.written.folder import Folder

    known = catalogue()
    chosen = known.select(request.name)
    line.world = world_of(request.answers)
    for exercise in chosen:
        torch.manual_seed(0)
        _draw(exercise, known, request, line)
        line.picture.notes += Folder(line.world.folder, known.names()).notes([exercise.stem])
        line.send({"done": pack(line.picture)})


def _draw(exercise: Any, known: Any, request: PictureRequest, line: TimedSender) -> None:
    import importlib
    import inspect
    import textwrap

    from grader.judging import recorded
    from grader.pictures.drawings import drawings_in
    from grader.showing.sketch import Sketch
    from grader.showing.workbench import Stopped, Workbench
    from grader.suite.expected import on_tape
    from grader.trouble import words_of

    picture = line.picture = Picture(exercise.full)
    drawing = drawings_in(importlib.import_module(f"grader.coach.{exercise.stem}")).get(
        exercise.name
    )
    if drawing is None:
        picture.state = "no picture"
        picture.trouble = [f"There is no picture for {exercise.full}."]
        return
    picture.says = " ".join((inspect.getdoc(drawing) or "").split("\n\n")[0].split())
    bench = Workbench(known, line.world, exercise.full, line.announce)
    sketch = Sketch(bench, picture, request.words, request.against)
    # what is right is recorded for the picture without words of one's own
    tape = None if request.words else recorded.picture(exercise.full)
    try:
        bench.run(exercise.full, lambda _: None)
        with on_tape(tape):
            drawing(sketch)
        sketch.finish()
    except Stopped as stopped:
        picture.trouble = str(stopped).splitlines()
        picture.state = "not started" if stopped.not_started else "stopped"
        if stopped.not_started:
            picture.rows.clear()
            picture.says = ""
            picture.trouble.append(f"A first hint: python -m grader hint {exercise.name}")
    except Exception as problem:  # a model of other parts than the contract names, say
        said = f"{type(problem).__name__}: {words_of(problem)}"
        picture.trouble = textwrap.wrap(f"The picture ends here, with {said}", 88)
        picture.trouble.append(
            f"Does it pass its checks?  pytest tests/test_{exercise.stem}.py::{exercise.name}"
        )
        picture.state = "stopped"
