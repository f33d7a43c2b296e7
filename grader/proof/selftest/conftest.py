"""Submissions to grade: the solutions with one chapter changed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import places
from grader.answers.door import Answer
from grader.chapters import World, catalogue
from grader.chapters.catalogue import suite_path
from grader.cli import main
from grader.proof.selftest import kept_judge
from grader.suite.check import load_suite
from grader.suite.compare import Finding
from grader.suite.costs import Growth, grows
from grader.suite.draw import Draw
from grader.workers.forked import Starter
from grader.workers.starting import starter_for


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let CI bound the time of the slow tests: what they find out, they find out another day."""
    says = "when to begin no slow test any more, in seconds since 1970; they come last then"
    parser.addoption("--slow-until", type=float, metavar="TIME", help=says)


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests begin hear Ctrl-C, even where they were begun in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: takes minutes in all; CI runs it if there is time")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the slow tests last where their time is bounded."""
    if config.getoption("slow_until") is not None:
        items.sort(key=lambda item: (_is_slow(item), _is_of_a_pack(item)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no slow test when the time is up."""
    until = item.config.getoption("slow_until")
    if until is not None and _is_slow(item) and time.time() > until:
        pytest.skip("slow, and CI's time is up")


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None or _is_of_a_pack(item)


def _is_of_a_pack(item: pytest.Item) -> bool:
    return "released" in getattr(item, "fixturenames", ())


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give the kit's own tests more time than a check has; a release takes minutes by itself.

    Much more: on a busy machine all takes three times as long, and what hangs is seen all the same.
    """
    item.add_marker(pytest.mark.timeout(1800 if _is_of_a_pack(item) else 600))


@pytest.fixture(scope="session", autouse=True)
def _one_judge() -> Iterator[None]:
    """Start a judge once for all tests that grade in this process."""
    kept_judge.keep()
    yield
    kept_judge.let_go()


@pytest.fixture(scope="session")
def starter() -> Iterator[Starter]:
    """Start workers without walls: what they run is the kit's own."""
    with contextlib.closing(starter_for()) as made:
        yield made


@pytest.fixture
def submission(tmp_path: Path) -> Callable[..., Path]:
    """Write a submission: the solutions, with some files' text replaced."""

    def write(name: str, **changed: str | bytes | None) -> Path:
        folder = tmp_path / "submissions" / name
        folder.mkdir(parents=True)
        for path in places.SOLUTIONS.glob("ex*.py"):
            new = changed.get(path.stem, path.read_bytes())
            if new is not None:
                (folder / path.name).write_bytes(new.encode() if isinstance(new, str) else new)
        return folder

    return write


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release once, as a folder and as an archive; tests leave it as it is.

    It takes minutes, so of xdist's workers one does it, and the others take a copy.
    """
    mine = tmp_path_factory.mktemp("release") / "pack"
    if "PYTEST_XDIST_WORKER" not in os.environ:
        assert release(mine) == 0
        return mine
    shared = tmp_path_factory.getbasetemp().parent / "released"
    with contextlib.suppress(FileExistsError):
        shared.mkdir()
        (shared / "status.part").write_text(str(release(shared / "pack")))
        (shared / "status.part").replace(shared / "status")
    while not (shared / "status").exists():
        time.sleep(0.2)
    assert (shared / "status").read_text() == "0"
    shutil.copytree(shared / "pack", mine)
    shutil.copy2(shared / "pack.zip", mine.with_name("pack.zip"))
    return mine


def release(folder: Path) -> int:
    """Release; whatever goes wrong is a status, or others would wait for ever."""
    try:
        return main(["release", str(folder), "--zip", "--notebooks"])
    except BaseException:
        traceback.print_exc()
        return 1


@pytest.fixture(scope="session")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release two chapters once, as a folder and as an archive; tests copy what they change."""
    folder = tmp_path_factory.mktemp("week") / "pack"
    assert main(["release", str(folder), "--zip", "--chapters", "ex03..ex04"]) == 0
    return folder


@pytest.fixture
def solution() -> Callable[[str], str]:
    """Read the text of a solution."""
    return lambda stem: (places.SOLUTIONS / f"{stem}.py").read_text(encoding="utf-8")


@pytest.fixture
def graded(tmp_path: Path) -> Callable[..., Any]:
    """Grade through the command line and return the json report, after checking the status."""

    def grade(*arguments: object, status: int = 0) -> Any:
        file = tmp_path / "report.json"
        command = ["grade", *map(str, arguments), "--seed", "3", "--report", f"json1={file}"]
        assert main(command) == status
        return json.loads(file.read_text(encoding="utf-8"))

    return grade


@pytest.fixture
def kept_promises(tmp_path: Path) -> Iterator[Callable[..., list[tuple[Growth, Finding | None]]]]:
    """Say what is found of a chapter's code, by each cost that is promised."""

    def tried(stem: str, code: str, exercise: str = "") -> list[tuple[Growth, Finding | None]]:
        for path in places.SOLUTIONS.glob("ex*.py"):
            if path.stem < stem:
                (tmp_path / path.name).write_bytes(path.read_bytes())
        (tmp_path / f"{stem}.py").write_text(code, encoding="utf-8")
        world = World(tmp_path, catalogue().names())
        told = []
        for one in load_suite(suite_path(stem)).COSTS:
            if exercise in ("", one.exercise):
                world.begin(0)
                told.append((one, found(Answer(world, stem), one)))
        return told

    def found(answer: Answer, promised: Growth) -> Finding | None:
        try:
            grows(answer, Draw(0, "costs"), promised)
        except Finding as one:
            return one
        return None

    threads = torch.get_num_threads()
    # tensors are small: more threads only wait for each other
    torch.set_num_threads(1)
    yield tried
    torch.set_num_threads(threads)
