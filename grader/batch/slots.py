"""Submissions side by side: each slot is a thread with a judge, and takes the next that waits."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from grader.batch.grade import grade_one
from grader.batch.plan import GradingPlan
from grader.batch.reader import SubmissionReader
from grader.batch.stopping import BatchStopped, NoJudge, StopAsked, heard, signals_are_for_others
from grader.batch.store import Store
from grader.batch.submissions import Submission
from grader.hearings.process import GradingError, JudgeProcess
from grader.results import CheckResult, SubmissionResult
from grader.workers import cores

# a submission's place in the batch, its result, and whether it was known before
Graded = tuple[int, SubmissionResult, bool]
AfterEach = Callable[[SubmissionResult, bool], None]
STOPPING = 20.0


def side_by_side(
    submissions: Sequence[Submission], plan: GradingPlan, store: Store | None, after_each: AfterEach
) -> list[SubmissionResult]:
    """Grade the submissions, `plan.jobs` at a time; the results keep the order of these.

    Raises:
        StopAsked: by a signal; what was running is ended, nothing of ours is left.
        NoJudge: nothing can be graded here.
    """
    waiting = deque(enumerate(submissions))
    said: queue.SimpleQueue[Graded | int | BaseException] = queue.SimpleQueue()
    results: dict[int, SubmissionResult] = {}
    slots = [Slot(waiting, said, plan, store, core) for core in _cores(plan, len(submissions))]
    with heard(said.put):
        try:
            for slot in slots:
                slot.start()
            while len(results) < len(submissions):
                place, result, known = _next(said, len(results))
                results[place] = result
                after_each(result, known)
        except BaseException:
            waiting.clear()
            _end(slots)
            raise
        for slot in slots:
            slot.join(STOPPING)
    return [results[place] for place in range(len(submissions))]


def _cores(plan: GradingPlan, submissions: int) -> list[int | None]:
    """Give each slot a core of its own where all of them are wanted; else the system may choose."""
    jobs = min(plan.jobs, submissions)
    own = sorted(cores.mine())
    return list(own) if jobs == len(own) else [None] * jobs


def _next(said: queue.SimpleQueue[Graded | int | BaseException], done: int) -> Graded:
    while True:
        try:
            # with a limit, because Windows delivers a signal only between two waits
            what = said.get(timeout=1.0)
        except queue.Empty:
            continue
        if isinstance(what, int):
            raise StopAsked(what, done)
        if isinstance(what, BaseException):
            raise what
        return what


def _end(slots: Sequence[Slot]) -> None:
    """Stop the slots, again and again: one may be just starting what has to end."""
    deadline = time.monotonic() + STOPPING
    while any(slot.is_alive() for slot in slots) and time.monotonic() < deadline:
        for slot in slots:
            slot.stop()
            slot.join(0.1)


class Slot(threading.Thread):
    """Grades one submission after the other with a judge that is started when first needed."""

    def __init__(
        self,
        waiting: deque[tuple[int, Submission]],
        said: queue.SimpleQueue[Graded | int | BaseException],
        plan: GradingPlan,
        store: Store | None,
        core: int | None,
    ) -> None:
        super().__init__(daemon=True)
        self._waiting, self._said, self._plan, self._store = waiting, said, plan, store
        self._core = core
        self._judge: JudgeProcess | None = None
        self._reader = SubmissionReader()
        self._opened_before = self._stopped = False

    def run(self) -> None:
        """Work until nothing waits, and say each result; never end without a word."""
        signals_are_for_others()
        try:
            with self._reader:
                for place, submission in self._mine():
                    result, known = self._graded(submission)
                    self._said.put((place, result, known))
        except BatchStopped:
            pass
        except BaseException as problem:
            self._said.put(problem)
        finally:
            self._close()

    def _graded(self, submission: Submission) -> tuple[SubmissionResult, bool]:
        return grade_one(submission, self._plan, self._results, self._reader, self._store)

    def stop(self) -> None:
        """End what is being graded; from any thread."""
        self._stopped = True
        self._reader.stop()
        judge = self._judge
        if judge is not None:
            judge.stop()

    def _mine(self) -> Iterator[tuple[int, Submission]]:
        while not self._stopped:
            try:
                yield self._waiting.popleft()
            except IndexError:
                return

    def _results(self, files: Mapping[str, bytes], seed: int) -> dict[str, list[CheckResult]]:
        """Give every check a result on every device, in order."""
        plan, judge = self._plan, self._judge or self._open()
        names = [exercise.full for exercise in plan.exercises_in(files)]
        try:
            return {
                device: judge.hear(files, names, device, seed, plan.limits)
                for device in plan.devices
            }
        except BaseException as problem:
            self._close()  # whatever broke it is not to meet the next submission
            if self._stopped and isinstance(problem, GradingError):
                raise BatchStopped from None
            raise

    def _open(self) -> JudgeProcess:
        plan = self._plan
        try:
            # known before it is ready, so that it can be stopped while it is starting
            self._judge = JudgeProcess(
                plan.isolation, (Path.home(),), self._core, plan.earlier, plan.on_gpu
            )
            self._judge.wait()
        except Exception as problem:
            self._close()
            if self._stopped:
                raise BatchStopped from None
            if self._opened_before:
                raise
            raise NoJudge(str(problem)) from problem
        self._opened_before = True
        if self._stopped:
            raise BatchStopped
        return self._judge

    def _close(self) -> None:
        judge, self._judge = self._judge, None
        if judge is not None:
            judge.close()
