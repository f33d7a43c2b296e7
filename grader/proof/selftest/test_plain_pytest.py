"""Plain pytest over stubs, solutions and wrong answers, with the options that people use."""

from __future__ import annotations

import ast
import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader import places
from grader.chapters import catalogue

pytestmark = pytest.mark.slow
SUITE = "tests/test_ex04_softmax.py"
WRONG = "scores.sum(dim, keepdim=True)"


def run(*options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, options)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=places.ROOT, stdin=subprocess.DEVNULL
    )


@pytest.fixture
def wrong(submission, solution) -> Path:
    text = solution("ex04_softmax").replace("powers.sum(dim,", "powers.sum(-2,")
    return submission("wrong", ex04_softmax=text)


def test_stubs_are_not_started(capsys):
    done = run(SUITE)
    assert done.returncode == 1
    assert "not started" in done.stdout.splitlines()[-1]
    assert "passed" not in done.stdout.splitlines()[-1]
    assert "Traceback" not in done.stdout + done.stderr
    assert "FAILURES" not in done.stdout
    assert "next          softmax, exercises/ex04_softmax.py:" in done.stdout


def test_solutions_pass():
    done = run("--answers=solutions", SUITE, "-q")
    assert done.returncode == 0
    assert " passed in " in done.stdout.splitlines()[-1]


def test_answers_from_elsewhere_without_a_path_to_the_tests(wrong):
    done = run(f"--answers={wrong}", "-k", "softmax_sums_to_1", "-q")
    assert done.returncode == 1
    assert "1 failed" in done.stdout.splitlines()[-1]


def test_a_wrong_answer_is_told_once_in_full(wrong):
    done = run(f"--answers={wrong}", SUITE, "-k", "softmax and not weights")
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert "grader/" not in done.stdout
    assert done.stdout.count("expected") > done.stdout.count("Called as") >= 1


def test_stop_at_the_first(wrong):
    done = run(f"--answers={wrong}", SUITE, "-x")
    assert done.returncode == 1
    assert "1 failed" in done.stdout.splitlines()[-1]


def test_two_processes(wrong):
    done = run(f"--answers={wrong}", SUITE, "-n", 2, "-p", "xdist")
    assert done.returncode == 1
    assert "ex04_softmax" in done.stdout
    assert "total" in done.stdout


def test_last_failed(wrong, tmp_path):
    options = ["-o", f"cache_dir={tmp_path / 'cache'}", f"--answers={wrong}", SUITE, "-q"]
    command = [sys.executable, "-m", "pytest", *map(str, options)]
    first = subprocess.run(command, capture_output=True, text=True, cwd=places.ROOT)
    again = subprocess.run([*command, "--lf"], capture_output=True, text=True, cwd=places.ROOT)
    failed, failed_again = (run.stdout.splitlines()[-1].split()[0] for run in (first, again))
    assert failed == failed_again != "0"


def test_an_endless_loop_is_a_sentence(submission, solution):
    code = "\n\ndef softmax(scores, dim=-1):\n    while True:\n        scores = scores + 1\n"
    folder = submission("loops", ex04_softmax=solution("ex04_softmax") + code)
    done = run(f"--answers={folder}", SUITE, "-o", "timeout=1")
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "ex04_softmax.softmax did not come back in time" in text
    assert "in softmax" in text
    assert "it calls ex04_softmax.softmax, which did not come back" in text
    assert "Traceback" not in text


def test_a_syntax_error_is_a_sentence(submission):
    done = run(f"--answers={submission('typo', ex04_softmax='def softmax(')}", SUITE, "-x")
    assert done.returncode == 1
    assert "ex04_softmax.py, line 1 is not Python yet" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def dot_product(", "ex01_scores.py, line 1 is not Python yet"),
        ("\nnothing_of_that_name\n", "ex01_scores.py, which ex04_softmax.py imports, stops"),
    ],
)
def test_the_file_that_is_broken_is_named_and_not_those_that_import_it(submission, text, says):
    folder = submission("broken", ex01_scores=text)
    done = run("-x", "tests/test_ex04_softmax.py", f"--answers={folder}")
    assert says in done.stdout
    assert "BrokenFile" not in done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--answers=no/such/folder"], "there is no folder"),
        (["--device", "tpu"], "there is no device `tpu`"),
    ],
)
def test_bad_options(options, says):
    done = run(*options)
    assert done.returncode == 4
    assert says in done.stderr


# tells, when the first check begins, whether what a first optimiser imports has been loaded
WATCHER = """
import sys

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    sys.stderr.write(f"loaded: {'torch._dynamo' in sys.modules}\\n")
"""


@pytest.mark.parametrize("suite", ["test_ex07_model.py", "test_ex04_softmax.py"])
@pytest.mark.parametrize("code", ["    from torch.optim import SGD\n", "    # torch.optim\n"])
def test_an_optimiser_is_loaded_before_the_clock_runs_and_only_where_one_is_named(
    submission, solution, tmp_path, monkeypatch, suite, code
):
    text = f"{solution('ex07_model')}\n\ndef train(*_, **__):\n{code}    return []\n"
    folder = submission("adam", ex07_model=text)
    (tmp_path / "watcher.py").write_text(WATCHER, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("-p", "watcher", "-k", "values", "-x", f"tests/{suite}", f"--answers={folder}", "-s")
    named = "import" in code and suite == "test_ex07_model.py"
    assert f"loaded: {named}" in done.stderr
    assert f"loaded: {not named}" not in done.stderr


def collected(*options: object) -> list[str]:
    done = run("--collect-only", "-q", "--answers=solutions", *options)
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_checks_are_grouped_by_their_function():
    ids = collected()
    known = catalogue()
    assert {(Path(one).stem.split(".")[0], one.split("::")[1]) for one in ids} == {
        (f"test_{exercise.stem}", exercise.name) for exercise in known.exercises()
    }
    assert sorted(one.split("::test_")[1] for one in ids) == sorted(
        check.name for exercise in known.exercises() for check in exercise.checks
    )
    few = [one for one in ids if one.startswith(f"{SUITE}::softmax::")]
    assert collected(f"{SUITE}::softmax") == few
    assert collected(f"{SUITE}::softmax::test_values") == [one for one in few if "_values[" in one]
    heads = [one for one in ids if "::MultiHeadAttention::" in one]
    assert collected("-k", "MultiHeadAttention") == heads


@pytest.mark.parametrize("how", ["loadfile", "loadscope", "loadgroup"])
def test_groups_in_two_processes(how):
    done = run("--answers=solutions", SUITE, "-n", 2, "-p", "xdist", "--dist", how, "-q")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("folder", "options", "where"),
    [
        ("exercises", ["-k", "softmax and not attention"], "ex04_softmax.py:"),
        ("exercises", [f"../{SUITE}"], "ex04_softmax.py:"),
        ("tests", ["test_ex04_softmax.py"], "../exercises/ex04_softmax.py:"),
    ],
)
def test_from_the_folders_of_the_kit(folder, options, where):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    here = places.ROOT / folder
    elsewhere = {**os.environ, "PYTHONPATH": str(places.ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=here, env=elsewhere)
    assert "not started in " in done.stdout.splitlines()[-1]
    assert f"next          softmax, {Path(where)}" in done.stdout


def test_pytest_is_set_up_alike_in_both_places():
    whole = (places.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    own = configparser.ConfigParser()
    own.read(places.EXERCISES / "pytest.ini", encoding="utf-8")
    listed = re.search(r"^addopts = (\[.*\])", whole, re.MULTILINE)
    assert listed is not None
    assert own["pytest"]["addopts"].split() == ast.literal_eval(listed[1])
    assert re.search(rf"^timeout = {own['pytest']['timeout']}\b", whole, re.MULTILINE)
