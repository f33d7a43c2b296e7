"""Where submissions lie while they are graded: nothing stays, whatever ends the grader."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader.batch.laid_out import OLD, clear_leftovers, laid_out

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere nothing is cleared")


@pytest.fixture(autouse=True)
def space(tmp_path, monkeypatch) -> Path:
    """Keep what is temporary in a folder of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def made(space: Path, process: int, age: float) -> Path:
    """Make a folder as a process would have that was killed."""
    folder = space / f"attention-kit-{process}-abc_1"
    folder.mkdir()
    (folder / "ex01_scores.py").write_text("x = 1\n")
    os.utime(folder, (folder.stat().st_atime, folder.stat().st_mtime - age))
    return folder


@pytest.fixture
def gone() -> int:
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_files_are_there_and_then_nothing_is(space) -> None:
    with laid_out({"ex01_scores.py": b"x = 1\n"}) as folder:
        assert (folder / "ex01_scores.py").read_bytes() == b"x = 1\n"
        assert folder.parent == space
        clear_leftovers()
        assert folder.is_dir()
    assert not list(space.iterdir())


def test_what_a_killed_process_left_is_cleared(space, gone) -> None:
    folder = made(space, gone, OLD + 60)
    clear_leftovers()
    assert not folder.exists()


@pytest.mark.parametrize("age", [0.0, OLD - 60])
def test_what_is_young_may_be_of_a_process_that_is_not_seen(space, gone, age) -> None:
    folder = made(space, gone, age)
    clear_leftovers()
    assert folder.exists()


def test_what_belongs_to_a_process_that_lives_stays(space) -> None:
    folder = made(space, os.getpid(), OLD + 60)
    clear_leftovers()
    assert folder.exists()


def test_other_names_and_links_are_left_alone(space, gone) -> None:
    other = space / "attention-kit-notes"
    other.mkdir()
    target = space / "target"
    target.mkdir()
    link = space / f"attention-kit-{gone}-link"
    link.symlink_to(target)
    os.utime(link, (0, 0), follow_symlinks=False)
    clear_leftovers()
    assert other.is_dir()
    assert target.is_dir()
