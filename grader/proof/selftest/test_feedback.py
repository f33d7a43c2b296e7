"""Feedback finds its way back: to the right student, in a form that the platform takes."""

from __future__ import annotations

import ast
import csv
import io
import re
import zipfile
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import nbformat
import pytest

from grader.cli import main
from grader.proof.selftest.made_up import HOSTILE, MESSAGE, random_run
from grader.proof.selftest.read_back import written
from grader.proof.selftest.test_batches import EX01, WRONG, AtOnce
from grader.proof.selftest.test_class_page import MIXING, SOFTMAX, WEIGHTS, exercise
from grader.proof.selftest.test_gradebook import MOODLE, filled
from grader.reports.digest import Problem
from grader.reports.gradebook import fill
from grader.reports.in_short import as_html, in_short, next_thing, sentence
from grader.reports.layout import blocks
from grader.reports.platforms import read
from grader.reports.way_back import ways_back
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult

PAGE = "feedback.html"
SLIP = "Your columns sum to 1, not your rows: softmax ran over dim -2, the queries."


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("grader.batch.slots.JudgeProcess", AtOnce)


def run_of(*submissions, **options):
    return Run("0", "0", 1, {"cpu": "run", "cuda": "absent"}, submissions, **options)


def named(*came_as, problem=None, identity=None):
    """A submission that came as files or folders of these names."""
    exercises = () if problem else (exercise(SOFTMAX, "wrong", slip="over_queries"),)
    return SubmissionResult(
        identity or came_as[0], problem, exercises, ("cpu",), came_as=came_as
    )  # fmt: skip


def members(run, folder):
    """The archive's members, in order, with what they hold."""
    with zipfile.ZipFile(written("feedback", run, folder)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def moodle_finds(member):
    """Tell whose a file is and what it is called, as Moodle 4's importer does; None if nobody's."""
    parts = member.split("/")
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) >= 4 and info[1].isdecimal() and info[2] in ("assignsubmission",
                                                                  "assignfeedback"):  # fmt: skip
            return int(info[1]), "/".join([*info[4:5], *parts]).lstrip("/")
    return None


def canvas_finds(member):
    """Tell user and upload, as Canvas does."""
    parts = [part for part in member.rsplit("/", 1)[-1].split("_") if part != "LATE"]
    if parts[0] == "anon":
        return parts[1], parts[2]
    numbers = [part for part in parts if part.isdecimal()][:2]
    return None if len(numbers) < 2 or parts[-1].startswith("link") else tuple(numbers)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("Jane Doe_501_assignsubmission_file", 501),
        ("Jane Doe_501_assignsubmission_file_", 501),
        ("Jane Doe_501_assignsubmission_file_homework.zip", 501),
        ("Participant_77_assignsubmission_file_", 77),
        ("Jörg_M Müller_502_assignsubmission_file", 502),
        ("Team_4-Jane Doe_501_assignsubmission_onlinetext", 501),
    ],
)
def test_moodle_finds_its_students(name, number, tmp_path):
    ((member, page),) = members(run_of(named(name)), tmp_path).items()
    assert moodle_finds(member) == (number, PAGE)
    assert page.startswith(b"<!doctype html>")
    assert SLIP in page.decode()


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("doejane_101_7001_homework.zip", ("101", "7001")),
        ("doejane_LATE_101_7001_home_2_work-1.zip", ("101", "7001")),
        ("obrienvera_12960_600620_ex01_scores.py", ("12960", "600620")),
        ("müllerjörg_102_7002_ex01_scores-1.ipynb", ("102", "7002")),
        ("anon_x7Kq2_600620_homework.zip", ("x7Kq2", "600620")),
        ("LATE_anon_x7Kq2_600620_homework.zip", ("x7Kq2", "600620")),
    ],
)
def test_canvas_finds_its_students(name, whose, tmp_path):
    ((member, data),) = members(run_of(named(name)), tmp_path).items()
    assert member == name
    assert canvas_finds(member) == whose
    # the student gets it under the name of what was handed in
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as inner:
            assert inner.namelist() == [PAGE]
            data = inner.read(PAGE)
    elif name.endswith(".py"):
        assert ast.parse(data).body == []
    else:
        book = nbformat.reads(data.decode(), 4)
        nbformat.validate(book)
        data = book.cells[0].source.encode()
    assert re.search("softmax.+wrong", data.decode())
    assert "Your columns sum to 1" in data.decode()


def test_a_folder_that_was_an_archive_is_one_again(tmp_path):
    assert list(members(run_of(named("doejane_101_7001_homework")), tmp_path)) == [
        "doejane_101_7001_homework.zip"
    ]


@pytest.mark.parametrize(
    "name", ["anna", "ex_01_02_final", "team_1", "team_1_2_x", "1_2_3000_x", "a b"]
)
def test_without_a_platform_it_is_a_page_by_name(name, tmp_path):
    ((member, page),) = members(run_of(named(name)), tmp_path).items()
    assert re.fullmatch(r"[\w.-]+\.html", member)
    assert name.split("_")[-1] in member.replace("_", " ")
    assert page.startswith(b"<!doctype html>")


def test_one_student_with_several_folders():
    text = named("Jane Doe_501_assignsubmission_onlinetext", problem="no ex*.py")
    file = named("Jane Doe_501_assignsubmission_file")
    again = named("Jane Doe_501_assignsubmission_file_", identity="again")
    ways = ways_back([text, file, again], ["a", "b", "c"])
    assert {member: submission.identity for member, (submission, _) in ways.items()} == {
        "Jane Doe_501_assignsubmission_onlinetext/feedback.html": text.identity,
        "Jane Doe_501_assignsubmission_file/feedback.html": file.identity,
        "Jane Doe_501_assignsubmission_file/feedback-2.html": "again",
    }


def test_the_archive_has_the_same_bytes_again_in_order(tmp_path):
    run = random_run(4, submissions=9)
    first = written("feedback", run, tmp_path).read_bytes()
    turned = replace(run, submissions=run.submissions[::-1])
    assert list(members(run, tmp_path)) == sorted(members(turned, tmp_path))
    assert written("feedback", run, tmp_path).read_bytes() == first
    with zipfile.ZipFile(tmp_path / "report.feedback") as archive:
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_students_get_no_more_of_the_messages_than_they_are_to_see(tmp_path):
    run = run_of(named("anna"), named("doejane_101_7001_x.py"), messages="none")
    for data in members(run, tmp_path).values():
        assert b"softmax" in data
        assert b"columns sum" not in data


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_and_messages(text, tmp_path):
    bad = exercise(SOFTMAX, "wrong")
    bad = replace(bad, checks=(replace(bad.checks[0], message=text), bad.checks[1]))
    for ending in ("py", "ipynb", "zip"):
        name = f"doejane_1_2000_x.{ending}"
        one = SubmissionResult(text, exercises=(bad,), devices=("cpu",), came_as=(name,))
        (data,) = members(run_of(one), tmp_path).values()
        if ending == "py":
            assert all(line.startswith("#") for line in data.decode().split("\n")[:-1])
    said = as_html(in_short(one))
    said.encode("ascii")
    assert not re.search(r'[\n\r"]', said)
    assert set(re.findall(r"<[^>]*>", said)) <= {
        "<p>", "</p>", "<strong>", "</strong>", "<ul>", "</ul>", "<li>", "</li>", "<code>",
        "</code>",
    }  # fmt: skip


def test_the_next_step_is_where_the_class_page_lets_one_stand():
    waiting = exercise(WEIGHTS, "wrong", because=(SOFTMAX,))
    states = {"wrong": "softmax", "to polish": "softmax", "not started": "softmax"}
    for state, name in states.items():
        others = [exercise(WEIGHTS, "solved"), exercise(MIXING, "solved")]
        one = SubmissionResult("a", None, (exercise(SOFTMAX, state), *others), ("cpu",))
        step = next_thing(one)
        assert (step.name, step.chapter, step.state) == (name, "ex04_softmax", state)
        assert (step.problem is None) == (state == "not started")
    solved = tuple(exercise(name, "solved") for name in (SOFTMAX, WEIGHTS))
    assert next_thing(SubmissionResult("a", None, solved, ("cpu",))) is None
    lost = next_thing(SubmissionResult("a", None, (waiting,), ("cpu",)))
    assert (lost.name, lost.state) == ("softmax", "wrong")


class _Boxes(HTMLParser):
    """The text of the box with the next step, and that of the rest of the page."""

    def __init__(self, page):
        super().__init__()
        self.inside, self.box, self.rest = False, "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.inside |= tag == "section" and "next" in (dict(attrs).get("class") or "").split()

    def handle_endtag(self, tag):
        self.inside &= tag != "section"

    def handle_data(self, data):
        if self.inside:
            self.box += data
        else:
            self.rest += data


def test_the_page_has_the_next_step_with_its_picture_once(tmp_path):
    both = (exercise(SOFTMAX, "wrong", slip="over_queries"), exercise(MIXING, "wrong"))
    run = run_of(SubmissionResult("a", None, both, ("cpu",)))
    page = _Boxes(written("html", run, tmp_path).read_text(encoding="utf-8"))
    assert "softmax in ex04_softmax: wrong" in " ".join(page.box.split())
    assert "0.424*" in page.box
    assert SLIP in page.box
    assert f"{SOFTMAX}: 3 of 9 values" not in page.rest
    assert f"{MIXING}: 3 of 9 values" in page.rest
    done = run_of(SubmissionResult("a", None, (exercise(SOFTMAX, "solved"),), ("cpu",)))
    assert "Nothing is left" in _Boxes(written("html", done, tmp_path).read_text()).box


def test_expected_and_yours_are_set_apart():
    (_, picture, _) = blocks(MESSAGE.format(name="softmax", got=2))
    assert picture.halves == (
        "expected\n1.000 0.000 0.000",
        "yours\n0.424* 0.000  0.000",
    )
    with_edges = (
        "x: wrong\n\n    expected            yours   (columns 0 to 1 of 7)\n"
        "            0      1         0       1\n"
        "    0  0.0416 0.5420    0.0307* 0.2780*\n"
        "    1  0.3969 0.0643    0.8361* 0.0941*"
    )
    (_, picture) = blocks(with_edges)
    left, right = picture.halves
    assert left.splitlines()[2].split() == ["0", "0.0416", "0.5420"]
    assert right.splitlines()[2].split() == ["0", "0.0307*", "0.2780*"]
    (_, code) = blocks("x stopped\n\n    ex04.py, line 4\n        peak = 1")
    assert code.halves == ()


def wrong_in(*names):
    exercises = tuple(exercise(name, "wrong", slip="over_queries", points=5) for name in names)
    late = exercise(WEIGHTS, "wrong", because=(names[0],), points=5)
    return (*exercises, late)


def test_moodles_worksheet_gets_the_feedback_in_short(tmp_path):
    names = [f"ex0{n}_x.f{n}" for n in range(1, 10)]
    jane = SubmissionResult("501", None, wrong_in(*names), ("cpu",))
    rows, notes, data = filled(tmp_path, MOODLE, jane)
    said = rows["Jane Doe"][9]
    assert "feedback comments written: 1" in notes
    assert said.startswith("<p>0 of 50 points: 0 solved, 10 wrong, 0 not started.</p>")
    assert f"<strong>Next step:</strong> <code>f1</code> in ex01_x, wrong: {SLIP}" in said
    assert re.findall(r"<li><code>(\w+)</code>", said) == [f"f{n}" for n in range(2, 10)]
    assert said.count(SLIP) == 7
    assert said.endswith("Waiting for earlier ones: <code>attention_weights</code></p>")
    # and nothing else than the grade has changed
    others = list(csv.reader(io.StringIO(MOODLE)))
    others[1][4], others[1][9] = "0,00", said
    assert list(csv.reader(io.StringIO(data.decode()))) == others


def test_a_feedback_that_is_there_stays(tmp_path):
    jorg = SubmissionResult("502", None, wrong_in("ex01_x.f"), ("cpu",))
    rows, notes, _ = filled(tmp_path, MOODLE, jorg)
    assert rows["Jörg Müller"][9] == 'Good, "really"'
    assert rows["Jörg Müller"][4] == "0,00"
    assert any("1 had one already, which stays" in note for note in notes)


def test_without_the_column_nothing_is_added(tmp_path):
    export = "".join(line.rpartition(",")[0] + "\n" for line in MOODLE.splitlines()[::3])
    jane = SubmissionResult("503", None, wrong_in("ex01_x.f"), ("cpu",))
    rows, notes, data = filled(tmp_path, export, jane)
    assert b"<p>" not in data
    assert not any("feedback" in note for note in notes)
    assert len(rows) == 2


@pytest.mark.parametrize("codec", ["cp1252", "utf-16"])
def test_a_worksheet_in_any_encoding_takes_it(codec, tmp_path):
    check = CheckResult("c", "cpu", "failed", True, 'f: 李 came, "naïve" was expected')
    odd = ExerciseResult("ex01_x.f", Fraction(5), 1, (check,))
    jane = SubmissionResult("501", None, (odd,), ("cpu",))
    path = tmp_path / "export.csv"
    path.write_bytes(MOODLE.encode(codec))
    data, _ = fill(read(path), run_of(jane))
    assert "&#26446; came, &quot;na&#239;ve&quot; was" in data.decode(codec)


def test_a_resumed_run_and_merged_parts_give_the_same_archive(at_once, solution, tmp_path):
    folder = tmp_path / "class"
    text = solution(EX01)
    for name, ending in {"Jane Doe_501_assignsubmission_file": WRONG, "anna": ""}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / f"{EX01}.py").write_text(text + ending)
    (folder / "obrienvera_12960_600620_ex01_scores-1.py").write_text(text + WRONG)
    (folder / "doejane_LATE_12961_600621_homework.zip").write_bytes(b"no zip")
    base = ["grade", str(folder), "--only", "dot_product", "--device", "cpu", "--seed", "5"]

    def archive(name, *command):
        status = main([*command, "--report", f"feedback={tmp_path / name}"])
        return status, (tmp_path / name).read_bytes()

    once = archive("1.zip", *base, "--results", str(tmp_path / "all.db"))
    assert once[0] == 1  # the broken archive
    assert archive("2.zip", *base, "--results", str(tmp_path / "all.db")) == once
    parts = [str(tmp_path / f"{n}.db") for n in (1, 2)]
    for n, part in enumerate(parts, 1):
        main([*base, "--shard", f"{n}/2", "--results", part])
    assert archive("3.zip", "merge", *parts) == once
    with zipfile.ZipFile(tmp_path / "3.zip") as found:
        assert found.namelist() == [
            "Jane Doe_501_assignsubmission_file/feedback.html",
            "anna.html",
            "doejane_LATE_12961_600621_homework.zip",
            "obrienvera_12960_600620_ex01_scores-1.py",
        ]


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("ex03_masking.causal_mask: 3 of 9 values differ", "causal_mask: 3 of 9 values differ"),
        ("ex03_masking.py, line 139 is not Python yet", "ex03_masking.py, line 139 is not"),
        ("ex03_masking.ipynb, cell 3, line 1 is not Python yet", "ex03_masking.ipynb, cell 3"),
    ],
)
def test_a_file_keeps_its_whole_name(message, says):
    assert sentence(Problem("error", None, message, ("values",), ("cpu",))).startswith(says)
