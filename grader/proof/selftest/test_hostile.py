"""Hostile submissions, with right ones among them, through the real command: nothing gets through.

As whoever runs the tests, and if that is root those that meet walls also as an ordinary user.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader import places
from grader.chapters import catalogue
from grader.proof.selftest import hostile
from grader.sandbox import offered

pytestmark = pytest.mark.slow
HOSTILE = hostile.all_of_them()
NOBODY = "65534"
SECRET = "SWORDFISH"
CANARY = Path("/tmp/hostile-was-here")
SEED = 1_912_823_171
SUBREAPER = 36
LONGEST = 600
as_root = sys.platform != "win32" and os.getuid() == 0
needs_walls = pytest.mark.skipif(
    sys.platform != "linux" or not offered().complete,
    reason="without all walls these would do to this machine what they try",
)
needs_root = pytest.mark.skipif(not as_root, reason="only root can become another user")


def batches() -> Iterator[Any]:
    """List who grades which hostile submissions, by chapters."""
    for chapter in sorted({one.chapter for one in HOSTILE}):
        every = [one for one in HOSTILE if one.chapter == chapter]
        yield pytest.param(every, None, id=f"{chapter}-as-it-is")
        if meeting := [one for one in every if one.meets_walls]:
            yield pytest.param(meeting, NOBODY, id=f"{chapter}-as-nobody", marks=needs_root)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder that every user can read and write."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as made:
        Path(made).chmod(0o777)
        yield Path(made)


def command(who: str | None) -> list[str]:
    python = [sys.executable, "-m"]
    return [*python, "grader.sandbox.drill.as_user", who, "-m"] if who else python


def graded(folder: Path, chapter: str, who: str | None) -> Any:
    file = folder / "report.json"
    done = subprocess.run(
        [*command(who), "grader", "grade", str(folder / "submissions"), "--only", chapter,
         "--jobs", "2", "--time-limit", "1", "--memory", "1024", "--seed", str(SEED),
         "--device", "cpu", "--report", f"json1={file}"],
        cwd="/" if who else places.ROOT, capture_output=True, text=True, timeout=LONGEST,
        env={**os.environ, "KIT_SECRET": SECRET}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    status, said = done.returncode, done.stdout + done.stderr
    failed = [line for line in said.splitlines() if "could not" in line or "grader:" in line]
    assert status == 0, "\n".join(failed) or said[-2000:]
    assert "Traceback" not in said
    return json.loads(file.read_text(encoding="utf-8"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def children() -> set[str]:
    tasks = Path("/proc/self/task").iterdir()
    return {child for task in tasks for child in (task / "children").read_text().split()}


@pytest.fixture
def no_process_is_left() -> Iterator[None]:
    """Take over what is orphaned below this process, and see that all of it has ended."""
    from grader.sandbox.kernel import prctl

    prctl(SUBREAPER, 1)
    before = children()
    yield
    until = time.monotonic() + 10
    while (left := children() - before) and time.monotonic() < until:
        for child in left:
            os.waitpid(int(child), os.WNOHANG)
        time.sleep(0.05)
    prctl(SUBREAPER, 0)
    assert not [Path(f"/proc/{child}/cmdline").read_text() for child in left]


@needs_walls
@pytest.mark.timeout(LONGEST + 60)
@pytest.mark.parametrize(("chosen", "who"), list(batches()))
def test_nothing_gets_through(folder, no_process_is_left, chosen, who):
    written = hostile.write(folder / "submissions", chosen)
    before = contents(folder / "submissions")
    report = graded(folder, chosen[0].chapter, who)
    found = {submission["id"]: submission for submission in report["submissions"]}
    assert list(found) == list(written)
    problems = []
    for name, one in written.items():
        submission = found[name]
        if one is not None:
            problems += [f"{name}: {said}" for said in one.complaints(submission)]
        elif submission["score"]["cpu"] != submission["max"]:
            problems.append(f"{name} got {submission['score']['cpu']} of {submission['max']}")
    assert not problems, "\n".join(problems)
    assert contents(folder / "submissions") == before
    assert not CANARY.exists()
    assert SECRET not in str(report)


def test_there_are_enough_and_each_says_what_it_tries():
    assert len(HOSTILE) >= 90
    assert len({one.what for one in HOSTILE}) == len(HOSTILE)
    names = catalogue().names()
    for one in HOSTILE:
        exercises = set(names[one.chapter])
        assert {"chapter", "earns", "outcomes"} <= set(one.facts) <= hostile.KEYS, one.name
        assert set(one.listed("outcomes")) <= hostile.OUTCOMES, one.name
        for key in ("earns", "partly", "at most"):
            assert set(one.listed(key)) <= exercises, one.name
        assert one.what.endswith("."), one.name


def patched(code: str) -> Iterator[tuple[str, str]]:
    """List what a submission patches or takes of the kit: modules, and their attributes."""
    of_kit = r"sys\.modules\[\"(grader\.[\w.]+)\"\]"
    yield from re.findall(rf"{of_kit}\.(\w+)", code)
    for name, module in re.findall(rf"^\s*(\w+) = {of_kit}$", code, re.MULTILINE):
        yield from ((module, taken) for taken in re.findall(rf"\b{name}\.(\w+)", code))


def test_what_they_patch_is_there():
    """What is not there any more stops an attack before it begins."""
    taken = [(one.name, *pair) for one in HOSTILE for pair in patched(one.code)]
    assert len(taken) > 30
    gone = [one for one in taken if not hasattr(importlib.import_module(one[1]), one[2])]
    assert not gone


def test_no_hostile_file_can_be_imported_or_collected():
    assert not (hostile.FOLDER / "__init__.py").exists()
    for path in hostile.FOLDER.iterdir():
        assert path.suffix == ".py"
        assert not path.stem.isidentifier() or path.stem in ("",), path.name
        assert not path.name.startswith("test_")


def report_of(one, earned, outcome="failed", message=""):
    exercises = [
        {
            "exercise": e.full,
            "points": float(e.points),
            "devices": {"cpu": {"earned": float(e.points) * earned}},
            "checks": [{"check": "values", "outcome": outcome, "message": message}],
        }
        for e in catalogue().select(one.chapter)
    ]
    return {"status": "graded", "problem": None, "exercises": exercises}


@pytest.mark.parametrize("one", HOSTILE, ids=[one.name for one in HOSTILE])
def test_a_forged_or_empty_verdict_would_be_noticed(one):
    held_to = {e.name for e in catalogue().select(one.chapter)} - set(one.listed("at most"))
    if (set(one.listed("earns")) - set(one.listed("partly"))) & held_to != held_to:
        assert list(one.complaints(report_of(one, 1)))
    if set(one.listed("earns")) & held_to:
        assert list(one.complaints(report_of(one, 0)))
    assert list(one.complaints({**report_of(one, 0), "status": "ungradable"}))
    if "never" in one.facts:
        text = one.facts["never"].encode().decode("unicode_escape")
        assert list(one.complaints(report_of(one, 0, message=f"... {text} ...")))
