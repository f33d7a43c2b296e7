"""Workers and their nursery: the core that a worker shares with its judge, and large pages."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.answers import nursery
from grader.answers.cores import mine, one_core
from grader.answers.forked import Forked, Job, Nursery
from grader.answers.remote import RemoteWorld
from grader.answers.trouble import Lost, TimeLimit
from grader.chapters import catalogue, places

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a nursery")


@pytest.fixture(scope="module")
def house() -> Iterator[Nursery]:
    """Start workers without walls: what they run is the kit's own."""
    with contextlib.closing(Nursery()) as made:
        yield made


@pytest.fixture
def job() -> Job:
    """Return what a worker is started with that runs the solutions."""
    return Job(places.SOLUTIONS, catalogue().names())


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


def test_many_workers_of_one_nursery_do_the_same(house, job) -> None:
    said = []
    for _ in range(nursery.SEVERAL + 2):
        world = RemoteWorld(lambda: house.start(job), job.folder, job.names)
        said.append(world.is_stub("ex04_softmax.softmax"))
        world.close()
    assert said == [False] * len(said)


def test_large_pages_hold_what_the_small_ones_held() -> None:
    code = (
        "from grader.answers.pages import made_large\n"
        "held = [bytes([at % 251]) * 4096 for at in range(4096)]\n"
        "made_large()\n"
        "assert all(one == bytes([at % 251]) * 4096 for at, one in enumerate(held))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=places.ROOT)


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
    job, said = Job(tmp_path, catalogue().names()), []
    for _ in range(2):
        with contextlib.closing(Nursery()) as nursery:
            world = RemoteWorld(functools.partial(nursery.start, job), tmp_path, job.names)
            said.append(world.function("ex01_scores", "dot_product")(1, 2).tolist())
            world.close()
    assert said[0] == said[1]


SLOW = "import time\n\n\ndef dot_product(a, b):\n    time.sleep(0.2)\n    return a\n"


def test_all_that_is_asked_within_a_time_takes_no_longer(house, tmp_path) -> None:
    (tmp_path / "ex01_scores.py").write_text(SLOW)
    job = Job(tmp_path, catalogue().names())
    world = RemoteWorld(lambda: house.start(job), tmp_path, job.names)
    slow = world.function("ex01_scores", "dot_product")
    # a cold start takes as long as the machine likes
    calls = [slow(1, 2)]

    def ask_on() -> None:
        while len(calls) < 20:
            world.begin(0)  # a check of its own each time
            calls.append(slow(1, 2))

    with pytest.raises((Lost, TimeLimit)), world.within(1.0):
        ask_on()
    assert len(calls) <= 6
    world.close()
