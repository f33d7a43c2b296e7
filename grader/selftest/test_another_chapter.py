"""A chapter is four files: with four more, it is there, and nothing else had to change."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from grader.chapters import places

STEM = "ex08_greeting"
BODY = '''"""Chapter 8. A greeting."""

import torch


def twice(x):
    """Double a tensor.

    Difficulty 1 of 5, about 1 minute.

    Example:
        >>> twice(torch.ones(1))
        tensor([2.])
    """
    {}
'''
SUITE = '''"""Chapter 8."""

from grader.suite import check, reference, same


@reference
def twice(x):
    return x + x


@check("twice", core=True)
def test_twice(answer, draw):
    x = draw(5)
    same(answer.twice(x), twice(x.double()), like=x)
'''
COACH = '''"""The coach of chapter 8."""

from grader.coach import Task

twice = Task("twice", points=25, difficulty=1, minutes=1, hints=("Two.", "Times.", "x and 2."))


@twice.slip("the docstring")
def thrice(x):
    """You tripled it."""
    return 3 * x
'''


@pytest.fixture
def kit(tmp_path):
    for name in ("exercises", "solutions", "tests", "grader"):
        shutil.copytree(
            places.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(places.ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "exercises" / f"{STEM}.py").write_text(
        BODY.format(f'raise NotImplementedError("{STEM}.twice")')
    )
    (tmp_path / "solutions" / f"{STEM}.py").write_text(BODY.format("return x + x"))
    (tmp_path / "tests" / f"test_{STEM}.py").write_text(SUITE)
    (tmp_path / "grader" / "coach" / f"{STEM}.py").write_text(COACH)
    return tmp_path


def test_four_files_are_a_chapter(kit):
    command = [sys.executable, "-m", "grader", "grade", "solutions", "--report", "json=report.json"]
    done = subprocess.run(command, cwd=kit, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    graded = json.loads((kit / "report.json").read_text())["submissions"][0]
    last = graded["exercises"][-1]
    assert (last["exercise"], last["points"]) == (f"{STEM}.twice", 20.0)
    assert graded["score"]["cpu"] == graded["max"] == 100.0

    wrong = kit / "exercises" / f"{STEM}.py"
    wrong.write_text(BODY.format("return x * 3"))
    command = [sys.executable, "-m", "pytest", f"tests/test_{STEM}.py"]
    told = subprocess.run(command, cwd=kit, capture_output=True, text=True)
    assert told.returncode == 1
    assert "You tripled it." in told.stdout


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            '@check("twice"',
            '@check("twise"',
            "checks twise, which the coach does not know; is twice",
        ),
        ("core=True", "core=False", "twice has no core check"),
        ("@reference\n", "", "twice has no @reference"),
    ],
)
def test_what_an_author_forgets_is_said_when_the_chapter_is_loaded(kit, old, new, says):
    path = kit / "tests" / f"test_{STEM}.py"
    assert old in SUITE
    path.write_text(SUITE.replace(old, new))
    done = subprocess.run([sys.executable, "-m", "grader"], cwd=kit, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"tests/test_{STEM}.py: " in done.stderr
    assert says in done.stderr
