"""The pack of a week: some chapters, which call answers of earlier weeks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from grader import places
from grader.proof.selftest.packs import run_in

HELD = ["ex03_masking", "ex04_softmax"]
OTHERS = sorted(one.stem for one in places.SOLUTIONS.glob("ex*.py") if one.stem not in HELD)


@pytest.fixture
def handed_out(week, tmp_path) -> Path:
    return Path(shutil.copytree(week, tmp_path / "pack"))


def put(folder: Path, *stems: str) -> None:
    for stem in stems:
        shutil.copy(places.SOLUTIONS / f"{stem}.py", folder / "exercises")


def test_it_holds_these_chapters_and_nothing_of_the_others(week):
    found = [p.relative_to(week).as_posix() for p in week.rglob("*") if p.is_file()]
    for stem in HELD:
        held = {f"exercises/{stem}.py", f"tests/test_{stem}.py", f"grader/coach/{stem}.py"}
        held |= {f"grader/quiz/drawn/{stem}.json", f"grader/comparing/sealed/{stem}.json"}
        assert held <= set(found)
    others = [name for name in found if any(stem in name for stem in OTHERS)]
    # which `finish` draws with
    assert sorted(others) == ["grader/coach/ex06_heads.py", "grader/coach/ex07_model.py"]
    assert not [name for name in others if ".slip(" in (week / name).read_text(encoding="utf-8")]
    names = json.loads((week / "grader/answers/elsewhere.json").read_text(encoding="utf-8"))
    assert list(names) == OTHERS
    text = (week / "README.md").read_text(encoding="utf-8")
    assert "This pack holds `ex03_masking`, `ex04_softmax`." in text
    assert "put `ex01_scores.py`" in " ".join(text.split())
    assert "Open `exercises/ex03_masking.py`" in text
    assert "ex08_positions" not in text


def test_its_stubs_are_not_started_and_its_points_are_out_of_100(week):
    done = run_in(week, "-m", "pytest", "-q")
    assert " not started in " in done.stdout.splitlines()[-1]
    assert "total         0 of 100 points: 0 solved, 0 wrong, 6 not started" in done.stdout


def test_it_says_which_file_of_an_earlier_week_is_missing(handed_out):
    put(handed_out, *HELD)
    done = run_in(handed_out, "-m", "pytest", "-q")
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "is in ex02_scaling.py, and there is no such file" in said
    assert "put your ex02_scaling.py beside ex04_softmax.py." in said
    assert "exercises/ex02_scaling.py:1 is not there: put yours there" in said
    assert "Traceback" not in said + done.stderr
    assert "5 solved, 0 wrong, 1 waiting" in said


def test_earlier_answers_are_found_in_the_students_folder(handed_out):
    put(handed_out, *HELD, "ex01_scores", "ex02_scaling")
    done = run_in(handed_out, "-m", "pytest", "-q")
    assert done.returncode == 0, done.stdout
    assert "total         100 of 100 points: 6 solved" in done.stdout
    shown = run_in(handed_out, "-m", "grader", "show", "attention_weights")
    assert shown.returncode == 0
    assert "ends here" not in shown.stdout
