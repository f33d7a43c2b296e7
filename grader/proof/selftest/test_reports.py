"""Every report of a run says the same, whatever the results are, and reads well."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grader import places
from grader.batch.wanted import Reports
from grader.judging.explain import not_python
from grader.proof.selftest.made_up import MESSAGE, hostile_run, random_run, ungradable_run
from grader.proof.selftest.read_back import READERS, classroom_results, text_of, written
from grader.reports import formats
from grader.reports.digest import problems
from grader.reports.formats import FORMATS
from grader.reports.layout import blocks
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult

SEED, OWN_SEED = 123_456_789_012_345, 987_654_321_098_765


def only(run):
    (submission,) = run.submissions
    return submission


@pytest.mark.parametrize("form", READERS)
def test_every_total_agrees(form, tmp_path):
    several = set()
    for seed in range(80):
        run = random_run(seed)
        totals = READERS[form](run, tmp_path)
        if form == "html" and only(run).problem:
            continue
        if list(totals) == ["final"]:
            want = {"final": only(run).final}
        else:
            scores = {device: only(run).reported(device) for device in ("cpu", "cuda")}
            want = {device: score for device, score in scores.items() if score is not None}
        assert totals.keys() == want.keys(), seed
        for key, found in totals.items():
            assert set(found) <= {want[key] * 100}, (seed, key)
            several |= set(found)
    assert len(several) > 40, "the runs were all alike"


def test_counts_agree_with_the_cases(tmp_path):
    run = random_run(5, submissions=9)
    root = ElementTree.parse(written("junit", run, tmp_path)).getroot()
    assert [suite.get("name") for suite in root] == [s.identity for s in run.submissions]
    for suite, submission in zip(root, run.submissions, strict=True):
        cases = list(suite.iter("testcase"))
        verdicts = [c.verdict for e in submission.exercises for c in e.checks]
        assert all(len(case) <= 1 for case in cases)
        assert int(suite.get("tests")) == len(cases) == len(verdicts) + bool(submission.problem)
        failures = sum(v in ("failed", "forbidden") for v in verdicts)
        errors = sum(v in ("error", "timeout", "crashed") for v in verdicts)
        assert int(suite.get("failures")) == failures == len(list(suite.iter("failure")))
        assert int(suite.get("errors")) == errors + bool(submission.problem)
        assert int(suite.get("skipped")) == verdicts.count("not started")


def numbers_in(form, run, folder):
    """Find every whole number that is written in a report."""
    text = text_of(form, run, folder)
    if form == "classroom":
        text = json.dumps(classroom_results(folder / "report.classroom"))
    if form == "gradescope":
        text = json.dumps({**json.loads(text), "extra_data": None})
    return set(map(int, re.findall(r"\d+", text)))


def test_instructors_are_told_the_seeds(tmp_path):
    run = replace(random_run(1, submissions=3), seed=SEED)
    own = replace(run.submissions[1], seed=OWN_SEED)
    run = replace(run, submissions=(run.submissions[0], own, run.submissions[2]))
    for form in ("json", "csv", "html", "junit"):
        assert {SEED, OWN_SEED} <= numbers_in(form, run, tmp_path), form
    report = json.loads(written("json", run, tmp_path).read_text())
    assert [s.get("seed") for s in report["submissions"]] == [None, OWN_SEED, None]
    with written("csv", run, tmp_path).open(encoding="utf-8", newline="") as file:
        assert [int(row["seed"]) for row in csv.DictReader(file)] == [SEED, OWN_SEED, SEED]
    for page in (tmp_path / "report-pages").iterdir():
        assert not re.search(f"{SEED}|{OWN_SEED}|seed", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", ["html", "feedback", "gradescope", "classroom"])
def test_students_are_not_told_the_seed(form, tmp_path):
    run = replace(random_run(1), seed=SEED)
    own = replace(run, submissions=(replace(only(run), seed=OWN_SEED),))
    for told in (run, own):
        found = numbers_in(form, told, tmp_path)
        assert found
        assert not {SEED, OWN_SEED} & found
        if form == "gradescope":  # of which Gradescope shows students nothing
            extra = json.loads((tmp_path / "report.gradescope").read_text())["extra_data"]
            assert extra["kit"]["seed"] == told.seed_of(only(told))


def test_isolation_and_seed_are_in_the_reports(tmp_path):
    run = random_run(8)
    kit = json.loads(written("json", run, tmp_path).read_text())["kit"]
    assert (kit["isolation"], kit["seed"]) == ("Landlock, seccomp", 8)
    assert "Landlock, seccomp" in written("html", run, tmp_path).read_text()
    assert 'name="kit.isolation" value="Landlock, seccomp"' in (
        written("junit", run, tmp_path).read_text()
    )


def test_a_device_that_was_not_run_is_nowhere_a_zero(tmp_path):
    run = next(r for r in map(random_run, range(80)) if only(r).devices == ("cpu",))
    assert (
        json.loads(written("json", run, tmp_path).read_text())["submissions"][0]["score"]["cuda"]
        is None
    )
    page = written("html", run, tmp_path).read_text()
    why = {"absent": "no CUDA device here", "not asked": "not asked for"}[run.devices["cuda"]]
    assert f"not run: {why}" in page


def test_one_submission_only():
    for form in ("gradescope", "classroom"):
        with pytest.raises(ValueError, match="one submission, and here are 2"):
            formats.refuse_early(form, 2)
        formats.refuse_early(form, 1)
    for form in ("json", "csv", "html", "junit"):
        formats.refuse_early(form, 2)


def test_a_name_does_not_mislead_who_opens_it():
    for form in ("class", "similar", "json"):
        with pytest.raises(ValueError, match=rf"`{form}` is JSON: call it of-all.json; `html` "):
            formats.refuse_name(form, Path("reports/of-all.html"))
        formats.refuse_name(form, Path("reports/of-all.json"))
        formats.refuse_name(form, Path("of-all"))
    formats.refuse_name("html", Path("of-all.html"))


@pytest.mark.parametrize("form", ["gradescope", "classroom"])
def test_several_submissions_are_refused_where_there_is_room_for_one(form, tmp_path):
    with pytest.raises(ValueError, match="grade one by one"):
        written(form, random_run(1, submissions=2), tmp_path)


def test_several_submissions_are_an_index_with_a_page_each(tmp_path):
    names = ["anna", "Anna", "an/na", "con", "..", "Jörg Müller", "李", "", "anna-2"]
    exercise = ExerciseResult("ex01_scores.dot_product", Fraction(100), 1,
                              (CheckResult("a", "cpu", "passed", True),))  # fmt: skip
    graded = tuple(SubmissionResult(n, exercises=(exercise,), devices=("cpu",)) for n in names)
    run = Run("0.1.0", "2.13.0", 3, {"cpu": "run", "cuda": "absent"}, graded)
    index = written("html", run, tmp_path).read_text(encoding="utf-8")
    links = re.findall(r'<th scope="row"><a href="([^"]+)"', index)
    assert set(re.findall(r'href="([^#"][^"]*)"', index)) == set(links)
    assert len(set(map(str.casefold, links))) == len(names)
    for name, link in zip(names, links, strict=True):
        page = (tmp_path / link).read_text(encoding="utf-8")
        assert f"<h1>{name}</h1>" in page
        others = [other for other in names if other and other not in name]
        assert not any(f"<h1>{other}</h1>" in page for other in others)
    assert not re.search(r"(^|/)con\.html", " ".join(links))


def test_pages_have_no_network_and_no_script(tmp_path):
    page = written("html", random_run(3), tmp_path).read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", page)


def test_html_without_jinja2(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ValueError, match="needs jinja2"):
        formats.refuse_early("html", 1)


def exercise_of(*messages, slip=None, device="cpu"):
    checks = [CheckResult(f"check_{n}", device, "failed", n == 0, message, slip)
              for n, message in enumerate(messages)]  # fmt: skip
    return ExerciseResult("ex04_softmax.softmax", Fraction(8), len(checks), tuple(checks))


def test_repeats_are_counted_not_listed():
    same = exercise_of(*(MESSAGE.format(name="softmax", got=got) for got in (1, -2.5, "nan")))
    (problem,) = problems(same)
    assert problem.repeats == "2 more checks show the same"
    assert "got 1\n" in problem.message
    other = exercise_of(MESSAGE.format(name="softmax", got=1), "softmax did not come back in time")
    assert len(problems(other)) == 2


def test_the_same_on_two_devices_is_told_once():
    on_cpu = exercise_of("no gradient reaches Q")
    both = exercise_of("no gradient reaches Q", device="cuda")
    checks = on_cpu.checks + both.checks
    exercise = ExerciseResult("ex04_softmax.softmax", Fraction(8), 1, checks)
    (problem,) = problems(exercise)
    assert problem.devices == ("cpu", "cuda")


def test_gradescope_says_where_a_problem_is(tmp_path):
    checks = (CheckResult("a", "cpu", "passed", True),
              CheckResult("a", "cuda", "failed", True, "the mask is on the CPU"))  # fmt: skip
    exercise = ExerciseResult("ex03_masking.causal_mask", Fraction(100), 1, checks)
    graded = SubmissionResult("anna", exercises=(exercise,), devices=("cpu", "cuda"))
    run = Run("0.1.0", "2.13.0", 3, {"cpu": "run", "cuda": "run"}, (graded,))
    report = json.loads(written("gradescope", run, tmp_path).read_text())
    assert report["score"] == 100
    assert "cuda: 0 of 100 points" in report["output"]
    (test,) = report["tests"]
    assert test["output"] == "cpu: solved, cuda: wrong\n\nOn cuda:\n\nthe mask is on the CPU"
    assert test["visibility"] == report["visibility"] == "visible"


def test_an_ungradable_submission_is_said_to_be_so_everywhere(tmp_path):
    run = ungradable_run("the archive is broken")
    for form in FORMATS:
        text = text_of(form, run, tmp_path)
        if form == "classroom":
            text = json.dumps(classroom_results(tmp_path / "report.classroom"))
        assert "the archive is broken" in text, form


@pytest.mark.parametrize("form", ["json", "json1"])
def test_json_is_packed_where_its_name_says_so(form, tmp_path):
    run = hostile_run("the same words again and again, " * 20)
    plain = written(form, run, tmp_path).read_bytes()
    packed = []
    for name in ("one.json.gz", "two.json.gz"):
        FORMATS[form](run, tmp_path / name)
        packed.append((tmp_path / name).read_bytes())
    assert packed[0] == packed[1]
    assert gzip.decompress(packed[0]) == plain
    assert len(packed[0]) < len(plain) / 3


def test_classroom_fits_into_the_environment(tmp_path):
    path = written("classroom", hostile_run("long " + "é" * 400_000), tmp_path)
    lines = path.read_text("ascii").splitlines(keepends=True)
    assert max(map(len, lines)) < 128 * 1024
    environment = dict(line.strip().split("=", 1) for line in lines)
    ask = "import os; print(len(os.environ['OPEN_RESULTS']))"
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True)
    assert int(done.stdout) > 1000


def test_messages_are_set_as_words_pictures_and_labels():
    words, picture, labels = blocks(MESSAGE.format(name="softmax", got=2))
    assert words.kind == "words"
    assert words.text.endswith("expected 1, got 2")
    assert picture.kind == "picture"
    assert picture.text.startswith("expected ")
    assert labels.labels[0] == (
        "Likely slip",
        "Your columns sum to 1, not your rows: softmax ran over dim -2, the queries.",
    )


def test_wrong_values_are_marked_and_nothing_else(tmp_path):
    page = written("html", hostile_run("0.5*<b> 0.25* a*b"), tmp_path).read_text()
    assert "<mark>0.25*</mark>" in page
    assert "a*b" in page
    assert "<b>" not in page


def test_reports_through_the_command_line(submission, graded, tmp_path, capsys):
    folder = submission("anna")
    asked = [f"--report={form}={tmp_path / form}" for form in FORMATS if form != "json"]
    report = graded(folder, "--only", "causal_mask", *asked)
    assert report["submissions"][0]["score"]["cpu"] == 3.0
    (row,) = csv.DictReader(io.StringIO((tmp_path / "csv").read_text()))
    assert (row["id"], row["cpu"], row["max"]) == ("anna", "3.00", "3.00")
    scope = json.loads((tmp_path / "gradescope").read_text())
    assert (scope["score"], scope["tests"][0]["max_score"]) == (3.0, 3.0)
    earned, still_open = classroom_results(tmp_path / "classroom")
    assert (earned["max_score"], still_open["max_score"]) == (3.0, 0.0)
    assert "3 of 3 points" in (tmp_path / "html").read_text()
    assert 'value="3.00 of 3.00"' in (tmp_path / "junit").read_text()


def test_templates_are_there_where_the_kit_is_installed():
    folder = places.ROOT / "grader" / "reports" / "templates"
    there = {file.name for file in folder.iterdir()}
    assert {"base.html", "index.html", "page.html", "style.css", "class.css", "class.js"} <= there
    asked = {
        name
        for file in folder.glob("*.html")
        for name in re.findall(r'(?:include|from|extends) "([^"]+)"', file.read_text("utf-8"))
    }
    assert asked <= there


def test_a_line_that_is_written_like_a_picture_is_text():
    text = "x\n\n    expected   yours\n    0"
    assert blocks(f"ex01_scores.py, line 1 is not Python yet: x\n\n    {text}")
    error = SyntaxError("x", ("ex01_scores.py", 1, 1, text))
    assert not_python(error, "")[-1] == "    x expected yours 0"


def test_a_report_that_cannot_be_written_costs_no_other_one(tmp_path):
    def fails(*_):
        raise ValueError("one of them")

    reports = Reports([(fails, tmp_path / "a"), (lambda _, path: path.write_text("b"),
                                                 tmp_path / "b")], None)  # fmt: skip
    with pytest.raises(ValueError, match="one of them"):
        reports.write(Run("0", "0", 1, {}, ()))
    assert (tmp_path / "b").read_text() == "b"
