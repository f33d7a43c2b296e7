"""Lists of names that a user writes: numbers, ranges, commas, and what cannot be meant."""

from __future__ import annotations

import re

import pytest

from grader import naming
from grader.cli import main

STEMS = ["ex01_one", "ex02_two", "ex03_three", "ex05_five"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ex02..ex05", STEMS[1:]),
        ("ex01_one..ex02", STEMS[:2]),
        ("ex03..ex03", STEMS[2:3]),
        (" ex05 , ex01..ex02,", [STEMS[3], *STEMS[:2]]),
        ("ex01,ex01_one", STEMS[:1]),
        ("softmax,ex02", ["softmax", STEMS[1]]),
    ],
)
def test_a_list_is_spelled_out(text, meant):
    assert naming.spelled_out(text, STEMS) == meant


@pytest.mark.parametrize("name", ["ex02", "ex02_two", "ex02_two.py", "ex02.ipynb"])
def test_the_number_of_a_chapter_is_its_name(name):
    assert naming.select(name, {"ex01_one": ["f"], "ex02_two": ["f", "g"]}) == [
        "ex02_two.f", "ex02_two.g",
    ]  # fmt: skip


def test_chapters_come_in_their_order():
    assert naming.chapters("ex05,ex01..ex02", STEMS) == [STEMS[0], STEMS[1], STEMS[3]]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ex05..ex02", "`ex05..ex02` is turned round: write ex02..ex05"),
        ("ex01..ex04", "no chapter is called `ex04`, in `ex01..ex04`; the chapters are ex01_one,"),
        ("..ex02", "no chapter is called ``, in `..ex02`"),
        ("softmax", "no chapter is called `softmax`; the chapters are"),
        ("", "no chapter is called ``"),
    ],
)
def test_what_cannot_be_meant_is_said(text, says):
    with pytest.raises(LookupError, match=re.escape(says)):
        naming.chapters(text, STEMS)


@pytest.mark.parametrize(
    "command",
    [
        ["grade", "solutions", "--only", "ex04..ex01"],
        ["release", "DIR", "--chapters", "ex04..ex01"],
    ],
)
def test_a_range_that_is_turned_round_ends_before_anything_is_done(tmp_path, command, capsys):
    command = [str(tmp_path / "new") if word == "DIR" else word for word in command]
    assert main(command) == 2
    assert "`ex04..ex01` is turned round: write ex01..ex04" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_only_takes_ranges(tmp_path, submission, graded):
    folder = submission("begun", ex01_scores="", ex02_scaling="")
    report = graded(folder, "--only", "ex01..ex02")
    chapters = {e["exercise"].split(".")[0] for e in report["submissions"][0]["exercises"]}
    assert chapters == {"ex01_scores", "ex02_scaling"}
