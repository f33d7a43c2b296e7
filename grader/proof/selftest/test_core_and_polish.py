"""Values first, polish after: what is right but for the finer points, wherever it is told."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main

NO_ROW = """

_right = multi_head


def multi_head(query, key, value, n_heads, mask=None):
    if mask is not None and mask.ndim == 1:
        mask = mask[:0]
    return _right(query, key, value, n_heads, mask)
"""
IN_FLOAT32 = """

_right = softmax


def softmax(scores, dim=-1):
    return _right(scores.float(), dim)
"""
IN_OTHER_WORDS = """

def _in_other_words(right):
    def told(*args, **kwargs):
        try:
            return right(*args, **kwargs)
        except ValueError:
            raise ValueError("these do not fit together") from None

    return told


dot_product = _in_other_words(dot_product)
naive_scores = _in_other_words(naive_scores)
project_rows = _in_other_words(project_rows)
project_linear = _in_other_words(project_linear)
project_columns = _in_other_words(project_columns)
dot_product_scores = _in_other_words(dot_product_scores)
"""
IN_ITS_OWN_WAY = """

_right = softmax


def softmax(scores, dim=-1):
    if scores.dtype == torch.bfloat16:
        return _right(scores, dim) * 0.75
    return _right(scores, dim)
"""
OTHERWISE_WRONG = "\n\ndef attention_weights(query, key, mask=None):\n    return query\n"


@pytest.fixture
def pytest_says():
    """Run the suites on a folder of answers."""

    def run(folder, *options):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--answers={folder}"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=places.ROOT)
        assert "Traceback" not in done.stdout + done.stderr
        return " ".join(done.stdout.split())

    return run


@pytest.fixture
def unpolished(submission, solution):
    """Chapter 4 right but for dtypes, chapter 5 not begun."""
    stub = (places.EXERCISES / "ex05_mixing.py").read_text(encoding="utf-8")
    text = solution("ex04_softmax") + IN_FLOAT32
    return submission("unpolished", ex04_softmax=text, ex05_mixing=stub)


def test_every_function_has_both():
    for exercise in catalogue().exercises():
        core = [check for check in exercise.checks if check.core]
        assert 0 < len(core) < len(exercise.checks)
        assert {check.about for check in core} <= {"values", "shapes", "gradients", "costs"}
        order = [check.core for check in exercise.checks]
        assert order == sorted(order, reverse=True)


def test_one_rare_mask_costs_what_its_checks_are_worth(submission, solution, tmp_path):
    folder = submission("rare", ex06_heads=solution("ex06_heads") + NO_ROW)
    report = tmp_path / "scores.json"
    options = ["--only", "multi_head", "--seed", "1", "--report", f"json1={report}"]
    assert main(["grade", str(folder), *options]) == 0
    [one] = json.loads(report.read_text(encoding="utf-8"))["submissions"][0]["exercises"]
    failed = [check["check"] for check in one["checks"] if check["outcome"] != "passed"]
    assert 0 < len(failed) < 6
    share = 1 - len(failed) / len(one["checks"])
    assert one["devices"]["cpu"]["earned"] == pytest.approx(one["points"] * share, abs=0.01)
    # the contract has no other word for it
    assert one["devices"]["cpu"]["outcome"] == "wrong"


def test_the_board_says_so_and_leads_to_both(unpolished, capsys):
    assert main(["--answers", str(unpolished)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"ex04_softmax 1\d[.\d]* of 16 to polish: softmax waiting for softmax", said)
    assert re.search(r"points: \d+ solved, 1 to polish, 0 wrong, \d+ waiting, 5 not started", said)
    assert re.search(r"next softmax is right, \d+ things to polish, .*ex04_softmax.py:\d+ ", said)
    assert re.search(r"or go on linear_combination, .*ex05_mixing.py:\d+ ", said)


def test_what_is_not_right_comes_before_polish(submission, solution, capsys):
    text = solution("ex04_softmax") + IN_FLOAT32 + OTHERWISE_WRONG
    assert main(["--answers", str(submission("both", ex04_softmax=text))]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"next attention_weights, .*ex04_softmax.py:\d+ ", said)
    assert "or go on" not in said


def test_a_message_says_what_can_wait(unpolished, pytest_says):
    said = pytest_says(unpolished, "tests/test_ex04_softmax.py")
    assert "Polish softmax is right for ordinary inputs. This can wait" in said
    # what has not been seen is not said
    said = pytest_says(unpolished, "tests/test_ex04_softmax.py", "-k", "dtypes and softmax")
    assert "expected the dtype float64" in said
    assert "is right" not in said


def test_the_first_failure_is_of_the_core(submission, solution, pytest_says):
    text = solution("ex04_softmax") + IN_FLOAT32 + OTHERWISE_WRONG
    said = pytest_says(
        submission("both", ex04_softmax=text), "tests/test_ex04_softmax.py", "-x", "-q"
    )
    assert "ex04_softmax.attention_weights: " in said
    assert "ex04_softmax.softmax: " not in said


def test_a_hint_says_what_is_left(unpolished, capsys):
    assert main(["--answers", str(unpolished), "hint", "softmax"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Likely slip: The output has become float32" in said
    assert re.search(r"softmax is right, \d+ things to polish. The first: .*the dtype", said)
    assert "If that is not enough, ask again for hint 1 of 3." in said


@pytest.mark.parametrize("right", [IN_FLOAT32, IN_ITS_OWN_WAY], ids=["named", "without a name"])
def test_hints_lead_on_from_what_is_left(submission, solution, capsys, right):
    folder = submission("asks", ex04_softmax=solution("ex04_softmax") + right)
    said = []
    for _ in range(5):
        assert main(["--answers", str(folder), "hint", "softmax"]) == 0
        said.append(" ".join(capsys.readouterr().out.split()))
    assert "The first:" in said[0]
    for step in (1, 2, 3):
        assert f"hint {step} of 3: " in said[step]
        assert f"hint {step} of 3: " in said[4]
        assert f"hint {step % 3 + 1} of 3: " not in said[step]
    assert "There are no more." in said[4]
    assert "reset" not in said[4]


def test_the_first_chapter_takes_refusals_in_any_words(submission, solution, tmp_path):
    folder = submission("words", ex01_scores=solution("ex01_scores") + IN_OTHER_WORDS)
    report = tmp_path / "scores.json"
    assert main(["grade", str(folder), "--only", "ex01_scores", "--report", f"json={report}"]) == 0
    exercises = json.loads(report.read_text(encoding="utf-8"))["submissions"][0]["exercises"]
    assert len(exercises) == 6
    assert {one["devices"]["cpu"]["outcome"] for one in exercises} == {"solved"}


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("raise IndexError('no')", "it stops. You may go on, and mend this later."),
        ("return _right(scores, dim) * torch.nan", "it gives nan, which spoils a training."),
        ("return _right(scores, dim) * 0.75", "is right for ordinary inputs. This can wait"),
    ],
)
def test_what_stops_is_not_called_right(submission, solution, pytest_says, what, says):
    text = IN_ITS_OWN_WAY.replace("return _right(scores, dim) * 0.75", what)
    folder = submission("stops", ex04_softmax=solution("ex04_softmax") + text)
    assert says in pytest_says(folder, "tests/test_ex04_softmax.py", "-k", "softmax")


@pytest.mark.parametrize(
    "full",
    ["ex02_scaling.score_spread", "ex03_masking.causal_mask", "ex07_model.positional_encoding"],
)
def test_the_call_that_is_made_first_is_of_the_core(full):
    core = [check.name for check in catalogue().exercise(full).checks if check.core]
    assert [name for name in core if "_without_a_" in name]
