"""What a child does: it judges one check after the other, with an eye on the clock."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import replace

from grader.answers.clock import WALL
from grader.chapters import BrokenFile, Exercise, World, catalogue
from grader.judging.explain import explain
from grader.judging.judge import Judge
from grader.judging.outcome import Outcome, student_frames
from grader.judging.result import check_result
from grader.judging.stuck import stuck_in
from grader.suite.check import Check
from grader.trial.messages import Ask, Loading, Said, Sender
from grader.trial.plan import DEVICE, Plan, PlannedTask

LONGEST = 20_000
PRINTED = 2_000
# in so many failing checks of an exercise its slip is looked for, when the verdict is urgent
ENOUGH = 2


def the_plan() -> Plan:
    """Say what there is to do."""
    return plan_of(catalogue().exercises())


def plan_of(exercises: Iterable[Exercise]) -> Plan:
    """Turn exercises into plain data."""
    tasks = [
        PlannedTask(
            exercise.full, exercise.points, exercise.task.difficulty, exercise.task.minutes,
            tuple(exercise.task.hints), tuple((c.name, c.core) for c in exercise.checks),
            exercise.track,
        )
        for exercise in exercises
    ]  # fmt: skip
    return Plan(tuple(tasks))


def attempt(ask: Ask, line: Sender, seconds: float) -> None:
    """Judge what is asked for, and say of each check how it went."""
    known, born = catalogue(), os.getpid()
    checks = {(e.full, c.name): c for e in known.exercises() for c in e.checks}
    world = World(ask.folder, known.names())
    judge = Judge(known, world, hanging=set(ask.hanging))
    judge.blame.trust(ask.wrong)
    clock = Clock(world, line, seconds)
    failed: dict[str, list[bool]] = {}
    for full, name in ask.checks:
        check, printed = checks[full, name], KeptOutput()
        if ask.quick and (len(failed.get(full, ())) >= ENOUGH or any(failed.get(full, ()))):
            check = replace(check, telling=False)
        with printed.kept(), clock.running(check, printed):
            if check.stem not in world.modules:
                line.say(Loading(check.stem), hold=not ask.singly)
                with contextlib.suppress(BrokenFile):  # each of its checks says so
                    world.load(check.stem)
                line.say(Loading(""), hold=not ask.singly)
            outcome = _judged(judge, check)
        if os.getpid() != born:
            os._exit(0)  # a fork of the answer's making, come back into our loop
        if not outcome.passed:
            failed.setdefault(full, []).append(outcome.slip is not None)
        line.say(
            Said(check_result(check, outcome, DEVICE, LONGEST), printed.text()), hold=not ask.singly
        )
    line.end()


def _judged(judge: Judge, check: Check) -> Outcome:
    try:
        return judge.judge(check)
    except KeyboardInterrupt as problem:  # the answer's own: here nobody presses Ctrl-C
        outcome = Outcome("error", error=problem, frames=student_frames(problem, judge.world))
        outcome.message = explain(check, outcome, None, None)
        return outcome
    except Exception:
        said = f"the check itself failed: {traceback.format_exc(-3)}"
        return Outcome("error", message=said)


class Clock:
    """Ends this process when a check takes too long, and says where it was stuck.

    A thread does it, not a signal: that works on Windows too, and no `except` of an answer gets
    hold of it. A call into C that lets no other thread run is ended by whoever waits.

    Args:
        world: the answers.
        line: told what happened.
        seconds: how long a check may take.
    """

    def __init__(self, world: World, line: Sender, seconds: float) -> None:
        self._world, self._line, self._seconds = world, line, seconds
        self._main = threading.get_ident()
        self._at: tuple[Check, KeptOutput] | None = None
        self._due = self._latest = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    @contextlib.contextmanager
    def running(self, check: Check, printed: KeptOutput) -> Iterator[None]:
        """Keep an eye on a check."""
        self._due = time.process_time() + self._seconds
        self._latest = time.monotonic() + self._seconds * WALL
        self._at = (check, printed)
        try:
            yield
        finally:
            with self._line.lock:
                self._at = None

    def _watch(self) -> None:
        while True:
            time.sleep(min(0.25, self._seconds / 4))
            with self._line.lock:
                if self._at is not None and self._is_late():
                    self._late(*self._at)
                self._line.flush()

    def _is_late(self) -> bool:
        return time.process_time() > self._due or time.monotonic() > self._latest

    def _late(self, check: Check, printed: KeptOutput) -> None:
        frame = sys._current_frames().get(self._main)
        outcome, stuck = stuck_in(check, frame, self._world)
        self._line.say(Said(check_result(check, outcome, DEVICE, LONGEST), printed.text(), stuck))
        os._exit(0)


class KeptOutput(io.TextIOBase):
    """Keeps the first that an answer prints, however much it is."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._room = PRINTED
        self._cut = False

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Take in what is printed meanwhile."""
        with contextlib.redirect_stdout(self), contextlib.redirect_stderr(self):
            yield

    def writable(self) -> bool:
        """Say that one can write to it."""
        return True

    def write(self, text: str) -> int:
        """Keep a text, or as much of it as there is room for."""
        if self._room > 0:
            self._kept.append(text[: self._room])
        self._cut = self._cut or len(text) > self._room
        self._room -= len(text)
        return len(text)

    def text(self) -> str:
        """Return what was printed."""
        return "".join(self._kept) + ("\n..." if self._cut else "")
