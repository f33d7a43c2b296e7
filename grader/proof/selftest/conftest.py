"""Submissions to grade: the solutions with one chapter changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.chapters import places
from grader.cli import main


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give the kit's own tests more time than a check has."""
    item.add_marker(pytest.mark.timeout(300))


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
