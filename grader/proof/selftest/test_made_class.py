"""A made-up class is what its ledger says, and its check sees what it is there to see."""

from __future__ import annotations

import json
import os

import pytest

from grader import cli
from grader.batch.reader import SubmissionReader
from grader.batch.sources import Told, Unusable
from grader.batch.submissions import find
from grader.proof.made_class.answers import KINDS
from grader.proof.made_class.check import agreeing, as_the_ledger_says
from grader.proof.made_class.make import Student, ledger_of, make
from grader.proof.made_class.shapes import SHAPES
from grader.proof.made_class.totals import REPORTS, from_json, from_table

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a student hands in a link")
COUNT = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "class"
    return folder, make(folder, COUNT, 7)


def test_everything_that_students_do_is_there_and_no_two_do_the_same(made):
    folder, ledger = made
    assert {one.shape for one in ledger} == set(SHAPES)
    assert {one.kind for one in ledger} == set(KINDS)
    assert len({one.id for one in ledger}) == len(ledger) == COUNT
    assert any(one.full for one in ledger)
    assert json.loads(ledger_of(folder).read_text("utf-8"))[0]["id"] == ledger[0].id
    alike = [one.read_bytes() for one in folder.rglob("ex07*.py") if one.is_file()]
    assert len(set(alike)) == len(alike) > COUNT / 3


def test_the_same_seed_makes_the_same_bytes(made, tmp_path):
    make(tmp_path / "class", COUNT, 7)
    assert ledger_of(tmp_path / "class").read_bytes() == ledger_of(made[0]).read_bytes()
    assert contents(tmp_path / "class") == contents(made[0])


def contents(folder):
    return {
        path.relative_to(folder): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_who_can_be_read_is_who_is_to_be_graded(made):
    folder, ledger = made
    told = Told()
    readable = {}
    with SubmissionReader() as reader:
        for one in find([folder], told):
            try:
                readable[one.identity] = bool(one.files(reader))
            except Unusable:
                readable[one.identity] = False
    assert readable == {one.id: one.expected == "graded" for one in ledger}
    assert told.notes == []


def test_a_small_class_is_graded_as_its_ledger_says(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    ledger = make(tmp_path / "class", 20, 3)
    asked = [f"--report={form}={tmp_path / file}" for form, (file, _) in REPORTS.items()]
    only = ("--only", "dot_product", "--device", "cpu", "--seed", "5")
    assert cli.main(["grade", str(tmp_path / "class"), *only, *asked]) == 1
    printed = capsys.readouterr().out
    figure = as_the_ledger_says(ledger, tmp_path / "scores.json")
    assert figure.lines()[1:] == []
    assert figure.total == 21
    found = {form: read(tmp_path / file) for form, (file, read) in REPORTS.items()}
    figure = agreeing({**found, "the table": from_table(printed)})
    assert figure.lines()[1:] == []
    assert figure.total == 20 * 6


def report(path, **totals):
    submissions = [
        {"id": name, "problem": None if total is not None else "broken", "score": {"cpu": total}}
        for name, total in totals.items()
    ]
    path.write_text(json.dumps({"submissions": submissions}))
    return path


def test_what_is_not_as_it_has_to_be_is_said(tmp_path):
    ledger = [
        Student("anna", "right", "folder", "graded", full=True),
        Student("berta", "right", "folder", "graded", full=True),
        Student("carl", "mixed", "empty", "named", full=False),
        Student("dora", "mixed", "folder", "graded", full=False),
        Student("emil", "mixed", "folder", "graded", full=False),
    ]
    path = report(tmp_path / "r.json", anna=10.0, berta=9.5, carl=3.0, dora=None, zoe=1.0)
    assert as_the_ledger_says(ledger, path).missing == [
        "berta (right, folder): 950 of 1000",
        "carl (mixed, empty): 300, has to be named",
        "dora (mixed, folder): None, has to be graded",
        "emil (mixed, folder): lost, has to be graded",
        "['zoe']: nobody's",
    ]
    other = {"anna": 1000, "berta": 951, "carl": None, "dora": None}
    assert agreeing({"json": from_json(path), "csv": other}).missing == [
        "berta: 950 in json, 951 in csv",
        "carl: 300 in json, None in csv",
        "zoe: 100 in json, nobody in csv",
    ]
