"""The board as a student reads it: in teaching order, what waits apart from what is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main


def run(*options, columns=None):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, options)]
    here = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    env = here if columns is None else {**here, "COLUMNS": str(columns)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=places.ROOT, env=env)
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout


def collected(*options):
    said = run("--collect-only", "-q", *options)
    return [line.rpartition("::")[2] for line in said.splitlines() if "::" in line]


@pytest.fixture
def half(submission, solution):
    """Chapter 1 right but for one function, chapter 4 right, chapter 5 a stub."""
    wrong = solution("ex01_scores").replace("return query @ key.mT", "return query @ key.mT * 2")
    stub = (places.EXERCISES / "ex05_mixing.py").read_text(encoding="utf-8")
    return submission("half", ex01_scores=wrong, ex05_mixing=stub)


def test_the_core_runs_function_by_function_and_then_the_polish():
    chapter = next(one for one in catalogue().chapters if one.stem == "ex03_masking")
    place = {
        check.name: (not check.core, at)
        for at, exercise in enumerate(chapter.exercises)
        for check in exercise.checks
    }
    order = [place[one.removeprefix("test_")] for one in collected("tests/test_ex03_masking.py")]
    assert len(order) == sum(len(exercise.checks) for exercise in chapter.exercises)
    assert order == sorted(order)


def test_the_order_is_that_of_the_board(submission, solution):
    both = solution("ex03_masking")
    both = re.sub(r"(def padding_mask.*?)return ", r"\1return ~", both, count=1, flags=re.DOTALL)
    both = re.sub(r"(def apply_mask.*?)return ", r"\1return -", both, count=1, flags=re.DOTALL)
    folder = submission("anna", ex03_masking=both)
    said = run(f"--answers={folder}", "tests/test_ex03_masking.py", "-x", "-q")
    assert re.search(r"^ex03_masking.padding_mask", said, re.MULTILINE)
    said = run(f"--answers={folder}", "tests/test_ex03_masking.py", "-q")
    told = re.findall(r"^ex03_masking\.(\w+)", said, re.MULTILINE)
    assert told.index("padding_mask") < told.index("apply_mask")


def test_what_is_asked_for_is_run():
    suite = "tests/test_ex03_masking.py"
    every = collected(suite)
    assert len(every) == len(set(every)) > 40
    assert collected(suite, "-k", "causal_mask") == [one for one in every if "causal_mask" in one]
    node = [line for line in run("--collect-only", "-q", suite).splitlines() if "::" in line][20]
    assert collected(node) == [every[20]]
    twice = collected("tests/test_ex04_softmax.py", suite)
    assert twice[-len(every) :] == every


def test_what_waits_is_not_wrong(half):
    said = run(f"--answers={half}", "-q", "tests/test_ex01_scores.py", "tests/test_ex04_softmax.py")
    text = " ".join(said.split())
    assert "1 wrong, 1 waiting, 0 not started" in text
    assert re.search(r"next dot_product_scores, .*ex01_scores.py:\d+ ", " ".join(said.split()))


def test_a_chapter_alone_leads_to_what_it_waits_for(half):
    said = run(f"--answers={half}", "tests/test_ex04_softmax.py")
    assert re.search(
        r"ex04_softmax +\d+ of 16 +solved: softmax +waiting for +ex01_scores.dot_product_scores: +"
        r"attention_weights",
        " ".join(said.split()),
    )
    assert re.search(r"next dot_product_scores, .*ex01_scores.py:\d+ ", " ".join(said.split()))


def test_a_chapter_that_is_done_leads_to_the_next(half):
    said = run(f"--answers={half}", "tests/test_ex03_masking.py", "tests/test_ex02_scaling.py")
    said = run(f"--answers={half}", "tests/test_ex03_masking.py")
    told = " ".join(said.split())
    assert re.search(r"next ex03_masking is done. linear_combination, .*ex05_mixing.py:\d+", told)
    said = run(f"--answers={half}", "tests/test_ex03_masking.py", "-k", "causal_mask")
    assert "is done" not in said
    assert re.search(r"next +linear_combination, ", " ".join(said.split()))


def test_what_ran_has_passed_and_the_rest_holds_no_stub():
    solved = f"--answers={places.SOLUTIONS}"
    for chosen in ([], ["-k", "predict"]):
        said = run(solved, "tests/test_ex07_model.py", *chosen)
        assert "next all that ran has passed" in " ".join(said.split())
        assert "every function is solved" not in said


def test_a_few_checks_that_pass_lead_to_a_stub(half):
    said = run(f"--answers={half}", "tests/test_ex03_masking.py", "-k", "test_causal_mask_values")
    assert re.search(r"next +linear_combination, .*ex05_mixing.py:\d+", " ".join(said.split()))


def test_a_broken_file_is_what_others_wait_for(submission, solution):
    for text, says in (("def softmax(", "is not Python yet"), ("\n\n1 / 0\n", "ZeroDivisionError")):
        folder = submission(says.split()[0], ex04_softmax=text)
        said = run(f"--answers={folder}", "tests/test_ex05_mixing.py", "tests/test_ex04_softmax.py")
        assert "2 wrong, 5 waiting" in said
        line = 1 if says.startswith("is not") else 3
        told = " ".join(said.split())
        assert re.search(rf"next .*ex04_softmax.py:{line} .*{says}", told)


def test_a_call_at_the_end_of_a_file_is_what_stops_it(submission, solution):
    """The file that it goes on into is right."""
    call = "\nx = torch.ones(3, 4)\nprint(attention_weights(x, x, torch.ones(3, 3)))\n"
    text = solution("ex04_softmax") + call
    folder = submission("tries", ex03_masking=solution("ex03_masking"), ex04_softmax=text)
    told = " ".join(run(f"--answers={folder}", "tests/test_ex04_softmax.py").split())
    line = len(text.splitlines())
    assert "0 solved, 2 wrong, 0 not started" in told
    assert re.search(rf"next .*ex04_softmax.py:{line} stops while it is imported: TypeError", told)
    assert "That call stands outside all functions" in told


def test_an_import_above_those_of_the_future_is_said(submission, solution):
    folder = submission("early", ex01_scores="import math\n" + solution("ex01_scores"))
    told = " ".join(run(f"--answers={folder}", "tests/test_ex01_scores.py").split())
    assert re.search(r"next .*ex01_scores.py:\d+ is not Python yet: from __future__", told)
    assert "what stands above it, such as an `import` of yours, belongs below it" in told


def test_an_import_of_a_later_chapter_is_said(submission, solution):
    later = "import torch\nfrom ex04_softmax import softmax\n"
    text = solution("ex03_masking").replace("import torch\n", later, 1)
    folder = submission("round", ex03_masking=text, ex04_softmax=solution("ex04_softmax"))
    told = " ".join(run(f"--answers={folder}", "tests/test_ex03_masking.py").split())
    says = "stops while it is imported: it imports ex04_softmax, which needs ex03_masking in turn"
    assert re.search(rf"next .*ex03_masking.py:1 {says}", told)
    assert "A chapter may import earlier ones only" in told


def test_a_raise_that_was_left_standing_is_named(submission):
    stub = (places.EXERCISES / "ex01_scores.py").read_text(encoding="utf-8")
    left = 'raise NotImplementedError("ex01_scores.dot_product")'
    folder = submission("left", ex01_scores=stub.replace(left, f"{left}\n    return (a * b).sum()"))
    told = " ".join(run(f"--answers={folder}", "tests/test_ex01_scores.py").split())
    line = 1 + stub[: stub.index(left)].count("\n")
    assert re.search(rf"next dot_product, .*:\d+ its `raise` still stands on line {line}", told)


def test_the_board_of_all_chapters(half, capsys):
    assert main(["--answers", str(half)]) == 0
    said = capsys.readouterr().out
    assert re.search(r"ex03_masking +14 of 14 +solved: all", said)
    assert re.search(
        r"ex01_scores +8 of 10 +solved: .* wrong: dot_product_scores", " ".join(said.split())
    )
    assert "waiting for ex01_scores.dot_product_scores" in " ".join(said.split())
    assert "not started: linear_combination" in said
    assert re.search(
        r"next dot_product_scores, .* \(python -m grader hint dot_product_scores\)",
        " ".join(said.split()),
    )


def test_the_board_of_nothing(tmp_path, capsys):
    assert main(["--answers", str(tmp_path)]) == 1
    assert "holds no ex*.py" in capsys.readouterr().err


def test_everything_solved(capsys):
    assert main(["--answers", str(places.SOLUTIONS)]) == 0
    said = capsys.readouterr().out
    assert "100 of 100 points: 30 solved, 0 wrong, 0 not started" in said
    assert "nothing: every function is solved" in said


@pytest.mark.parametrize(("columns", "most"), [(60, 60), (80, 80), (200, 88), (None, 88)])
def test_messages_and_board_follow_the_screen(submission, solution, columns, most):
    wrong = solution("ex04_softmax").replace("dim: int = -1", "dim: int = -2")
    folder = submission("anna", ex04_softmax=wrong)
    said = run(f"--answers={folder}", "tests/test_ex04_softmax.py", columns=columns)
    message = said.partition("ex04_softmax.softmax: ")[2].partition("\n_")[0].splitlines()
    assert any("expected " in line and "yours" in line for line in message)
    below = said[said.index("\ntotal ") :].splitlines()[1:]
    # but what cannot be broken: a file, and its line
    of_files = re.compile(r"ex\d\d_\w+\.py")
    lines = [line for line in [*message[1:], *below[:-1]] if not of_files.search(line)]
    assert max(map(len, lines)) <= most
    assert max(map(len, lines)) > most - 20
    assert "(python -m grader hint softmax)" in said


def test_what_was_not_run_counts_nowhere(half):
    said = run(f"--answers={half}", "tests/test_ex04_softmax.py", "-k", "softmax-columns")
    assert re.search(r"^ex04_softmax +[\d.]+ of 8 ", said, re.MULTILINE)
    assert re.search(r"^total +[\d.]+ of 8 points in what was run: ", said, re.MULTILINE)
