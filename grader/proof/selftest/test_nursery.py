"""Workers and their nursery: the core that a worker shares with its judge, and chance."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator

import pytest

from grader.chapters import catalogue
from grader.remote.held import chapters_in
from grader.remote.world import RemoteWorld
from grader.trouble import Lost, TimeLimit
from grader.workers.cores import mine, one_core
from grader.workers.forked import Forked, Nursery, WorkerJob

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a nursery")


@pytest.fixture(scope="module")
def house() -> Iterator[Nursery]:
    """Start workers without walls: what they run is the kit's own."""
    with contextlib.closing(Nursery()) as made:
        yield made


@pytest.fixture
def job() -> WorkerJob:
    """Return what a worker is started with that runs the solutions."""
    return WorkerJob(catalogue().names())


def cores_of(worker: Forked) -> set[int]:
    """Return the cores that a worker may use."""
    return set(os.sched_getaffinity(worker._child))


def test_one_core_is_one_of_ours_and_given_back() -> None:
    before = mine()
    with one_core():
        assert len(mine()) == 1
        assert mine() <= before
    assert mine() == before


def test_one_core_is_given_back_after_an_error() -> None:
    before = mine()
    with pytest.raises(ValueError, match="on purpose"), one_core():
        raise ValueError("on purpose")
    assert mine() == before


def test_a_worker_keeps_to_the_core_of_its_judge(house, job) -> None:
    with one_core():
        worker = house.start(job)
        assert cores_of(worker) == mine()
    worker.end()
    free = house.start(job)
    assert cores_of(free) == mine()
    free.end()


CHANCE = """
import random

import numpy as np
import torch

drawn = [float(hash("attention") % 1000), random.random(), float(np.random.rand())]


def dot_product(a, b):
    return torch.tensor([*drawn, random.random(), float(np.random.rand())], dtype=torch.float64)
"""


def test_what_is_drawn_without_torch_is_the_same_in_every_nursery(tmp_path) -> None:
    (tmp_path / "ex01_scores.py").write_text(CHANCE)
    job, said = WorkerJob(catalogue().names()), []
    for _ in range(2):
        with contextlib.closing(Nursery()) as nursery:
            world = RemoteWorld(
                functools.partial(nursery.start, job), chapters_in(tmp_path), job.names
            )
            said.append(world.function("ex01_scores", "dot_product")(1, 2).tolist())
            world.close()
    assert said[0] == said[1]


SLOW = """
import time


def dot_product(a, b):
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    return a
"""


def test_all_that_is_asked_within_a_time_takes_no_longer(house, tmp_path) -> None:
    (tmp_path / "ex01_scores.py").write_text(SLOW)
    job = WorkerJob(catalogue().names())
    world = RemoteWorld(lambda: house.start(job), chapters_in(tmp_path), job.names)
    slow = world.function("ex01_scores", "dot_product")
    # a cold start takes as long as the machine likes
    calls = [slow(1, 2)]

    def ask_on() -> None:
        while len(calls) < 20:
            world.begin(0)  # a check of its own each time
            calls.append(slow(1, 2))

    with pytest.raises((Lost, TimeLimit)), world.within(1.0):
        ask_on()
    assert len(calls) <= 9
    world.close()
