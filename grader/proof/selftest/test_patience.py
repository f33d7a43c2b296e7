"""What a worker may take is counted in its own time: a busy machine costs nobody a check."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grader.answers.clock import WALL
from grader.chapters import World, catalogue
from grader.hearings import hearing
from grader.hearings.hearing import Hearing, Limits
from grader.judging.judge import SPARES, Judge
from grader.remote.patience import LOOSELY, Patience
from grader.remote.used import Used
from grader.remote.world import RemoteWorld
from grader.trouble import Lost, TimeLimit
from grader.workers.cores import one_core
from grader.workers.forked import WorkerJob

linux = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a nursery")
SECONDS = 1.0
WORKS = """
import time


def dot_product(a, b):
    began = time.process_time()
    while time.process_time() - began < a:
        pass
    return b


def naive_scores(a, b):
    import threading

    thread = threading.Thread(target=dot_product, args=(a, b))
    thread.start()
    thread.join()
    return b


def dot_product_scores(a, b):
    time.sleep(a)
    return b
"""
BUSY = "while True: pass"


class Pretended:
    """Stands for a worker that has used so much."""

    def __init__(self) -> None:
        self.processor = self.delayed = 0.0

    def used(self) -> Used:
        """Return what it has used."""
        return Used(self.processor, self.delayed)


@pytest.fixture
def waited(monkeypatch) -> Callable[[float], None]:
    """Let time pass on the wall when a test says so."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def with_worker() -> tuple[Patience, Pretended]:
    patience, worker = Patience(10.0), Pretended()
    process: Any = worker
    patience.started(process)
    return patience, worker


def test_what_others_have_had_of_the_processor_does_not_count(waited):
    patience, worker = with_worker()
    with patience.turn(workers=True):
        waited(100.0)
        worker.processor, worker.delayed = 2.0, 98.0
        assert patience.more() == pytest.approx(110.0)
        assert patience.ms() == 8000


def test_who_sleeps_takes_time_as_well(waited):
    patience, _ = with_worker()
    with patience.turn(workers=True):
        waited(10.0 * WALL)
        patience.more()
        waited(3.0 * WALL)
        with pytest.raises(TimeoutError):
            patience.more()
    patience.lost()
    assert patience.total == pytest.approx(13.0 * WALL)


def test_threads_that_work_while_the_first_one_sleeps_are_counted(waited):
    patience, worker = with_worker()
    with patience.turn(workers=True):
        waited(7.0)
        worker.processor = 14.0
        with pytest.raises(TimeoutError):
            patience.more()


def test_the_wall_bounds_it_loosely(waited):
    patience, worker = with_worker()
    with patience.turn(workers=True):
        waited(10.0 * LOOSELY + 1)
        worker.delayed = 10.0 * LOOSELY + 1
        with pytest.raises(TimeoutError):
            patience.more()


def test_the_judges_own_time_does_not_count(waited):
    patience, _ = with_worker()
    with patience.turn(workers=True):
        waited(4.0 * WALL)
        with patience.turn(workers=False):
            waited(50.0 * WALL)
        waited(3.0 * WALL)
        patience.more()
        assert patience.ms() == 3000


def test_an_import_is_counted_apart_and_in_all(waited):
    patience, worker = with_worker()
    with patience.turn(workers=True):
        waited(6.0)
        worker.processor = 6.0
    with patience.apart(), patience.turn(workers=True):
        waited(8.0)
        worker.processor = 14.0
        patience.more()
    assert patience.ms() == 4000
    patience.begin()
    assert patience.total == pytest.approx(14.0)


def test_where_nothing_is_known_of_the_processor_the_wall_counts_for_less(waited):
    patience = Patience(10.0)
    with patience.turn(workers=True):
        waited(8.0 * WALL)
        patience.more()
        waited(8.0 * WALL)
        with pytest.raises(TimeoutError):
            patience.more()


@pytest.fixture
def world(starter) -> Iterator[RemoteWorld]:
    names = catalogue().names()
    sources = {"ex01_scores.py": WORKS.encode()}
    made = RemoteWorld(lambda: starter.start(WorkerJob(names)), sources, names, SECONDS)
    yield made
    made.close()


@linux
def test_a_busy_neighbour_costs_nobody_a_check(world):
    with one_core():
        neighbours = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(5)]
        try:
            function = world.function("ex01_scores", "dot_product")
            # of six on one core each gets a sixth
            for seconds in (0.4, 0.8):
                world.begin(0)
                assert function(seconds, 7) == 7
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()


@linux
def test_nor_one_who_works_in_a_thread(world):
    with one_core():
        neighbours = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(3)]
        try:
            function = world.function("ex01_scores", "naive_scores")
            world.begin(0)
            assert function(0.7, 7) == 7
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()


@linux
def test_who_works_for_too_long_is_told_so(world):
    function = world.function("ex01_scores", "dot_product")
    world.begin(0)
    with pytest.raises(TimeLimit):
        function(30.0, 7)


@linux
def test_who_sleeps_for_too_long_is_ended(world):
    function = world.function("ex01_scores", "dot_product_scores")
    world.begin(0)
    with pytest.raises(Lost, match="did not come back"):
        function(60.0, 7)


# right, and slow: each call is within the limit of its check
SLOW = """
import time


def dot_product(a, b):
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"{tuple(a.shape)} and {tuple(b.shape)}")
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    return (a * b).sum()
"""
LOOP = SLOW[SLOW.index("    end =") : SLOW.index("    return")]
ASLEEP = SLOW.replace(LOOP, "    time.sleep(0.1)\n")


@linux
@pytest.mark.parametrize("slow", [SLOW, ASLEEP], ids=["busy", "asleep"])
def test_a_submission_has_a_limit_of_its_own_for_all_checks(starter, monkeypatch, slow):
    monkeypatch.setattr(hearing, "CHECKS", 1)
    known, limits = catalogue(), Limits(seconds=3.0)
    heard = Hearing(known, starter, {"ex01_scores.py": slow.encode()}, "cpu", 3, limits)
    results = list(heard.results([known.exercise("ex01_scores.dot_product")]))
    verdicts = [one.verdict for one in results]
    assert verdicts[0] == "passed"
    assert verdicts[-1] == "timeout"
    assert "not tried, the submission has used up all of its 3 s" in results[-1].message
    # once it is used up nothing is tried any more
    tried = verdicts.index("timeout")
    assert all("used up all" in one.message for one in results[tried + 1 :])


def test_time_that_goes_to_the_search_for_a_slip_is_not_the_answers(submission, monkeypatch):
    text = "def dot_product(a, b):\n    return a.sum()\n"
    judge = Judge(catalogue(), World(submission("anna", ex01_scores=text), catalogue().names()))
    asked = []

    def searches(*_: Any) -> None:
        asked.append(1)
        raise TimeLimit

    monkeypatch.setattr(judge.recogniser, "recognise", searches)
    checks = [c for c in catalogue().exercise("ex01_scores.dot_product").checks if c.telling]
    outcomes = [judge.judge(check) for check in checks]
    lost = [one for one in outcomes if not one.passed]
    assert lost
    assert {one.verdict for one in lost} <= {"failed", "error"}
    assert len(asked) == SPARES


def test_time_that_goes_to_an_other_check_is_not_the_answers(submission, monkeypatch):
    text = "def dot_product(a, b):\n    out = (a * b).sum()\n    a.data.zero_()\n    return out\n"
    judge = Judge(catalogue(), World(submission("anna", ex01_scores=text), catalogue().names()))
    asked = []

    def runs(*_: Any) -> None:
        asked.append(1)
        raise TimeLimit

    monkeypatch.setattr(judge.recogniser, "of_answer", runs)
    monkeypatch.setattr(judge, "_why", lambda *_: None)
    outcomes = [judge.judge(c) for c in catalogue().exercise("ex01_scores.dot_product").checks]
    assert asked
    assert "timeout" not in {one.verdict for one in outcomes}
    assert "failed" in {one.verdict for one in outcomes}
