"""Submissions to grade: the solutions with one chapter changed."""

from __future__ import annotations

import json
import signal
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
from grader.suite.check import load_suite
from grader.suite.compare import Finding
from grader.suite.costs import Growth, grows
from grader.suite.draw import Draw


def pytest_configure() -> None:
    """Let what tests begin hear Ctrl-C, even where they were begun in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give the kit's own tests more time than a check has; a release takes minutes by itself.

    Of xdist's workers one makes it and does all that need it, so that no other waits.
    """
    of_pack = "released" in getattr(item, "fixturenames", ())
    item.add_marker(pytest.mark.timeout(600 if of_pack else 300))
    if of_pack:
        item.add_marker(pytest.mark.xdist_group("pack"))


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
    """Release once, as a folder and as an archive; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("release") / "pack"
    assert main(["release", str(folder), "--zip", "--notebooks"]) == 0
    return folder


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
