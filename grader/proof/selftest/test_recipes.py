"""The recipes work as far as they can be tried without their platforms."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader import cli, places
from grader.proof.selftest.test_gradebook import MOODLE
from grader.reports import recipes
from grader.reports.recipes import __main__ as command

pytestmark = pytest.mark.slow
RECIPES = Path(recipes.__file__).parent
SCRIPTS = [RECIPES / "gradescope" / name for name in ("setup.sh", "run_autograder")]
needs_bash = pytest.mark.skipif(os.name == "nt", reason="the platforms run Linux")


@pytest.fixture(scope="module")
def autograder(tmp_path_factory):
    """Lay out /autograder as Gradescope does, with this Python for the one that it installs."""
    root = tmp_path_factory.mktemp("autograder")
    command.build(root / "autograder.zip")
    with zipfile.ZipFile(root / "autograder.zip") as archive:
        archive.extractall(root / "source")
    for name in ("results", "submission", "venv/bin"):
        (root / name).mkdir(parents=True)
    python_in(root / "venv" / "bin")
    return root


def python_in(folder):
    wrapper = folder / "python"
    wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o755)


def run_autograder(root, *options):
    return subprocess.run(
        ["bash", str(root / "source" / "run_autograder"), *options],
        env={**os.environ, "AUTOGRADER_ROOT": str(root)}, capture_output=True, text=True,
    )  # fmt: skip


def hand_in(root, *files):
    shutil.rmtree(root / "submission")
    (root / "submission").mkdir()
    for file in files:
        shutil.copy(file, root / "submission")


@needs_bash
def test_gradescope_grades_a_submission(autograder):
    hand_in(autograder, places.SOLUTIONS / "ex03_masking.py")
    done = run_autograder(autograder, "--only", "ex03_masking", "--seed", "5")
    assert done.returncode == 0, done.stderr
    report = json.loads((autograder / "results" / "results.json").read_text())
    assert report["score"] == sum(test["score"] for test in report["tests"]) > 0
    assert {test["status"] for test in report["tests"]} == {"passed"}
    assert report["extra_data"]["kit"]["seed"] == 5


@needs_bash
def test_gradescope_says_what_could_not_be_graded(autograder):
    hand_in(autograder)
    assert run_autograder(autograder, "--only", "causal_mask").returncode == 0
    report = json.loads((autograder / "results" / "results.json").read_text())
    assert report["score"] == 0
    assert "could not be graded" in report["output"]


@needs_bash
def test_gradescope_gives_no_score_when_the_grader_fails(autograder):
    (autograder / "results" / "results.json").write_text('{"score": 100}')
    done = run_autograder(autograder, "--only", "no_such_function")
    assert done.returncode == 1
    assert "nothing was graded" in done.stderr
    assert not (autograder / "results" / "results.json").exists()


def test_the_zip_holds_no_right_answers_and_is_always_the_same(tmp_path):
    for name in ("a.zip", "b.zip"):
        command.build(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        names = archive.namelist()
        modes = {name: archive.getinfo(name).external_attr >> 16 for name in names}
        scripts = [archive.read(script.name) for script in SCRIPTS]
    assert names[:2] == ["setup.sh", "run_autograder"]
    assert {modes["setup.sh"], modes["run_autograder"]} == {0o755}
    assert modes["kit/grader/cli.py"] == 0o644
    assert not [n for n in names if re.search(r"solutions|proof|selftest|__pycache__|\.git", n)]
    assert "kit/.ci/constraints.txt" in names
    assert not any(b"\r" in script for script in scripts)


def test_the_zip_command(tmp_path, capsys):
    conf = tmp_path / "pip.conf"
    conf.write_text("[global]\n")
    assert command.main([str(tmp_path / "x.zip"), "--pip-conf", str(conf)]) == 0
    assert "without solutions" in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.read("pip.conf") == b"[global]\n"
    assert command.main([str(tmp_path / "no" / "x.zip")]) == 2
    assert "grader: " in capsys.readouterr().err


@needs_bash
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_bash(script):
    assert script.read_bytes().startswith(b"#!/usr/bin/env bash\n")
    subprocess.run(["bash", "-n", str(script)], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", str(script)], check=True)


def workflow():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((RECIPES / "github" / "grade.yml").read_text(encoding="utf-8"))


def test_the_workflow_keeps_what_it_should():
    (job,) = workflow()["jobs"].values()
    checkouts = [
        s["with"] for s in job["steps"] if s.get("uses", "").startswith("actions/checkout")
    ]
    assert [checkout["path"] for checkout in checkouts] == ["submission", "kit"]
    assert not any(checkout["persist-credentials"] for checkout in checkouts)
    for step in job["steps"]:
        # an expression inside a script is code, whatever it expands to
        assert "${{" not in step.get("run", "")
        assert "secrets" not in str(step.get("env", ""))
    assert workflow()["permissions"]["contents"] == "read"


@needs_bash
def test_the_workflow_hands_the_reporter_its_environment(tmp_path):
    (job,) = workflow()["jobs"].values()
    steps = {step["name"]: step for step in job["steps"] if "name" in step}
    (tmp_path / "bin").mkdir()
    python_in(tmp_path / "bin")
    (tmp_path / "submission").mkdir()
    shutil.copy(places.SOLUTIONS / "ex03_masking.py", tmp_path / "submission")
    environment = {
        **os.environ, "GITHUB_WORKSPACE": str(tmp_path), "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
    }  # fmt: skip
    script = steps["Grade"]["run"].replace('grade "$', 'grade --only ex03_masking "$')
    subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                   env=environment, cwd=places.ROOT, check=True, capture_output=True)  # fmt: skip
    handed = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    runners = steps["Report to GitHub Classroom"]["with"]["runners"].split(",")
    found = [json.loads(base64.b64decode(handed[f"{r.upper()}_RESULTS"])) for r in runners]
    assert sum(one["max_score"] for one in found) == 14
    assert sum(test["score"] for one in found for test in one["tests"]) == 14
    kept = steps["Keep the reports"]["with"]["path"]
    assert kept == "${{ runner.temp }}/reports"
    reports = {file.name for file in (tmp_path / "reports").iterdir()}
    assert reports == {"report.html", "junit.xml", "report.json"}


def commands():
    """What the recipes tell people to type."""
    found = [
        shlex.split(line)
        for file in (RECIPES / "canvas.md", RECIPES / "moodle.md")
        for line in re.findall(r"^ +python -m grader (.+)$", file.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(found) == 2
    return found


def test_the_commands_of_the_recipes_exist():
    for typed in commands():
        given = cli._parser().parse_args(typed)
        assert given.gradebook.suffix == ".csv"
        assert given.report == ["csv=grades.csv", "feedback=feedback.zip"]


def test_moodle_from_its_download_to_its_worksheet(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    student = tmp_path / "handed-in" / "Jane Doe_501_assignsubmission_file"
    student.mkdir(parents=True)
    shutil.copy(places.SOLUTIONS / "ex03_masking.py", student)
    (tmp_path / "worksheet.csv").write_text(MOODLE, encoding="utf-8")
    (typed,) = [typed for typed in commands() if "worksheet.csv" in typed]
    assert cli.main([*typed, "--only", "causal_mask", "--device", "cpu"]) == 0
    row = '"Participant 501","Jane Doe",jane@uni.edu,"Submitted, late",'
    filled = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    assert filled.startswith(MOODLE.partition(f"{row},")[0] + f'{row}"50,00",')
    comment = "<p>3 of 3 points: 1 solved, 0 wrong, 0 not started.</p>"
    assert sum(comment in line for line in filled.splitlines()) == 1
    with zipfile.ZipFile(tmp_path / "feedback.zip") as archive:
        assert archive.namelist() == [f"{student.name}/feedback.html"]
    assert "1 of 3 students filled in, out of 50" in capsys.readouterr().err


def test_no_recipe_names_a_host():
    for file in RECIPES.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            assert not re.search(r"https?://|www\.", file.read_text(encoding="utf-8")), file
