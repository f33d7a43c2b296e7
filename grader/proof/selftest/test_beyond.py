"""What lies beyond the seven chapters costs nobody anything who does not begin it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from fractions import Fraction

import pytest

from grader import places
from grader.chapters.tracks import beyond, not_begun
from grader.proof.selftest.packs import run_in
from grader.proof.selftest.written import copy_of_the_kit
from grader.reports.board import board
from grader.results import CheckResult, ExerciseResult, SubmissionResult

STEM = "ex14_further"


def run(kit, *arguments, code=0):
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=kit, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """A copy of the kit with one chapter beyond the seven, of which all counts are known."""
    folder = copy_of_the_kit(tmp_path_factory.mktemp("kit"))
    for path in (one for stem in beyond() for one in places.files_of(stem)):
        (folder / path.relative_to(places.ROOT)).unlink()
    run(folder, "grader", "new", STEM, "weigh", "share")
    coach = folder / "grader" / "coach" / f"{STEM}.py"
    said = coach.read_text(encoding="utf-8")
    coach.write_text(said.replace('TRACK = "core"', 'TRACK = "beyond"', 1))
    return folder


@pytest.fixture
def begun(kit):
    """The chapter begun: the first function solved, the other a stub."""
    file = kit / "exercises" / f"{STEM}.py"
    stubs = file.read_text(encoding="utf-8")
    solved = (kit / "solutions" / f"{STEM}.py").read_text(encoding="utf-8")
    tail = stubs[stubs.index("\n\n\ndef share(") :]
    file.write_text(solved.partition("\n\n\ndef share(")[0] + tail, encoding="utf-8")
    yield file
    file.write_text(stubs, encoding="utf-8")


def test_a_chapter_of_which_a_class_alone_is_written_is_begun(tmp_path):
    folder = tmp_path / "answers"
    shutil.copytree(places.EXERCISES, folder)
    assert "ex11_cache" in not_begun(folder)
    file = folder / "ex11_cache.py"
    head, _, rest = file.read_text(encoding="utf-8").partition("class KeyValueCache")
    rest = rest[rest.index("\n\n\ndef ") :]
    file.write_text(f"{head}class KeyValueCache:\n    length = 0\n{rest}", encoding="utf-8")
    assert "ex11_cache" not in not_begun(folder)


def test_a_word_of_k_asks_for_its_chapter(kit):
    said = run(kit, "pytest", "-q", "-k", "weigh", code=1)
    assert "0 of 50 points in what was run" in said


def test_untouched_it_is_one_line(kit):
    said = run(kit, "pytest", "-q", code=1)
    further = [line for line in said.splitlines() if line.startswith("beyond")]
    assert len(further) == 1
    assert further[0].endswith(f"one more chapter, 100 points besides: exercises/{STEM}.py")
    assert said.count(STEM) == 1
    assert "0 of 100 points: 0 solved, 0 wrong, 30 not started" in said
    shown = run(kit, "grader")
    assert shown.count(STEM) == 1


def test_begun_it_has_points_of_its_own(kit, begun):
    said = run(kit, "pytest", code=1)
    assert re.search(rf"{STEM} +(\d+) of 100 +solved: weigh +not started: share", said)
    assert "total         0 of 100 points: 0 solved, 0 wrong, 30 not started" in said
    assert re.search(r"beyond +\d+ of 100 points: 1 solved, 0 wrong, 1 not started", said)
    shown = run(kit, "grader")
    assert re.search(r"beyond +\d+ of 100 points: 1 solved, 0 wrong, 1 not started", shown)


def test_asked_for_it_runs(kit):
    said = run(kit, "pytest", "-q", f"tests/test_{STEM}.py", code=1)
    assert "beyond        0 of 100 points: 0 solved, 0 wrong, 2 not started" in said
    assert "total " not in said
    assert "next          weigh" in said


def test_in_the_pack_it_is_beyond_as_well(kit, tmp_path):
    run(kit, "grader", "release", str(tmp_path), "--chapters", f"ex01_scores,{STEM}")
    said = run_in(tmp_path, "-m", "pytest", "-q").stdout
    assert "total         0 of 100 points: 0 solved, 0 wrong, 6 not started" in said
    assert f"beyond        one more chapter, 100 points besides: exercises/{STEM}.py" in said


def test_a_pack_of_nothing_else_begins_with_it(kit, tmp_path):
    run(kit, "grader", "release", str(tmp_path), "--chapters", STEM)
    for arguments in (["pytest", "-q"], ["grader"]):
        said = run_in(tmp_path, "-m", *arguments).stdout
        assert "beyond        0 of 100 points: 0 solved, 0 wrong, 2 not started" in said
        assert "total " not in said
        assert f"next          weigh, exercises/{STEM}.py" in said


def test_a_track_is_core_or_beyond(kit):
    coach = kit / "grader" / "coach" / f"{STEM}.py"
    said = coach.read_text(encoding="utf-8")
    coach.write_text(said.replace('TRACK = "beyond"', 'TRACK = "further"'), encoding="utf-8")
    try:
        wrong = run(kit, "pytest", "-q", code=4)
    finally:
        coach.write_text(said, encoding="utf-8")
    assert f"coach/{STEM}.py" in wrong
    assert 'TRACK is \'further\': say TRACK = "beyond", or "core"' in wrong


def test_who_hands_nothing_of_it_in_has_no_score_for_it(kit, begun, tmp_path):
    for name, files in {
        "seven": [], "untouched": [kit / "tests" / "stub.py"], "begun": [begun],
    }.items():  # fmt: skip
        folder = tmp_path / "class" / name
        folder.mkdir(parents=True)
        some = kit / "solutions" / "ex01_scores.py"
        (folder / some.name).write_bytes(some.read_bytes())
        for file in files:
            text = begun.read_text(encoding="utf-8")
            if file != begun:
                text = 'def weigh(x):\n    raise NotImplementedError("x")\n'
            (folder / f"{STEM}.py").write_text(text, encoding="utf-8")
    report = tmp_path / "report.json"
    arguments = ["grader", "grade", str(tmp_path / "class"), "--device", "cpu", "--seed", "5"]
    said = run(kit, *arguments, "--report", f"json={report}")
    found = {one["id"]: one for one in json.loads(report.read_bytes())["submissions"]}
    tracks = {
        name: [e["exercise"] for e in one["exercises"] if e["track"] == "beyond"]
        for name, one in found.items()
    }
    assert tracks == {
        "seven": [], "untouched": [], "begun": [f"{STEM}.weigh", f"{STEM}.share"],
    }  # fmt: skip
    assert [found[one]["beyond"]["cpu"] for one in ("seven", "untouched")] == [None, None]
    assert 0 < found["begun"]["beyond"]["cpu"] < 100
    assert {one["score"]["cpu"] for one in found.values()} == {10.0}
    assert {one["max"] for one in found.values()} == {100.0}
    assert re.search(r"^begun +10\.00 +\d+\.\d\d ", said, re.M)
    named = run(kit, *arguments, "--report", f"json={report}", "--only", STEM)
    assert re.search(r"^seven +0\.00 +0 ", named, re.M)


def result(name, track, points, *passed):
    checks = tuple(
        CheckResult(f"{n}", "cpu", "passed" if ok else "failed", core=True)
        for n, ok in enumerate(passed)
    )
    return ExerciseResult(name, Fraction(points), len(passed), checks, track=track)


def test_neither_score_holds_anything_of_the_other():
    exercises = (
        result("ex01_a.f", "core", 30, True), result("ex02_b.g", "core", 70, False),
        result("ex14_c.h", "beyond", 100, True),
    )  # fmt: skip
    one = SubmissionResult("anna", exercises=exercises, devices=("cpu",))
    assert (one.score("cpu"), one.beyond("cpu"), one.maximum) == (30, 100, 100)
    assert (one.score("cuda"), one.beyond("cuda")) == (None, None)
    assert (one.count("solved", "cpu"), one.count("wrong", "cpu")) == (1, 1)
    without = SubmissionResult("berta", exercises=exercises[:2], devices=("cpu",))
    assert without.beyond("cpu") is None


def test_the_board_counts_what_was_run_of_it(tmp_path):
    results = [
        result("ex01_a.f", "core", 100, True), result("ex14_c.h", "beyond", 60, True),
        result("ex15_d.i", "beyond", 40),
    ]  # fmt: skip
    said = board(results, tmp_path, device="cpu")
    assert "total         100 of 100 points" in said
    assert "beyond        60 of 60 points in what was run" in said
    assert "ex15_d" not in said.split("next")[0]


def test_the_board_points_to_the_first_of_several(tmp_path, monkeypatch):
    results = [
        result("ex01_a.f", "core", 100, True), result("ex14_c.h", "beyond", 60),
        result("ex15_d.i", "beyond", 40),
    ]  # fmt: skip
    said = board(results, tmp_path, device="cpu")
    assert "beyond        2 more chapters, 100 points besides: exercises/ex14_c.py\n" in said
    (tmp_path / "ex14_c.ipynb").write_text('{"nbformat": 4, "nbformat_minor": 5, "cells": []}')
    monkeypatch.chdir(tmp_path)
    assert "100 points besides: ex14_c.ipynb\n" in board(results, tmp_path, device="cpu")
