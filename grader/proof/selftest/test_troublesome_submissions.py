"""Submissions that hang, leave, crash or do not parse cost only what they must."""

from __future__ import annotations

import sys

import pytest

from grader.batch.sources import Told, sources

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs the sandbox")
EX02 = "ex02_scaling"
HANGS = "\n\ndef scale_scores(scores, d_k):\n    while True:\n        pass\n"
SWALLOWS = """

def scale_scores(scores, d_k):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""
LEAVES = "\n\ndef scale_scores(scores, d_k):\n    import sys\n\n    sys.exit(0)\n"
LEAVES_AT_ONCE = "\n\ndef scale_scores(scores, d_k):\n    import os\n\n    os._exit(0)\n"
CRASHES = "\n\ndef scale_scores(scores, d_k):\n    import ctypes\n\n    ctypes.string_at(0)\n"
FORKS = """

def scale_scores(scores, d_k):
    import os

    os.fork()
    return scores / d_k**0.5
"""
SHOUTS = "\n\ndef scale_scores(scores, d_k):\n    raise RuntimeError('\\x1b[31m' + 'A' * 10**7)\n"
NEEDS_INPUT = "\n\ndef scale_scores(scores, d_k):\n    return scores / float(input())\n"
BREAKS_OFF = "\n\ndef scale_scores(scores, d_k):\n    raise KeyboardInterrupt\n"


def exercise(report, name, place=0):
    return next(e for e in report["submissions"][place]["exercises"] if e["exercise"] == name)


def outcomes(report, name):
    return {check["outcome"] for check in exercise(report, name)["checks"]}


@pytest.mark.parametrize(
    ("code", "outcome", "says"),
    [
        (HANGS, "timeout", "did not come back in time"),
        (LEAVES, "error", "SystemExit"),
        (LEAVES_AT_ONCE, "crashed", "ended its process by itself, with status 0"),
        (CRASHES, "crashed", "SIGSEGV"),
        (NEEDS_INPUT, "error", "EOFError"),
        (SHOUTS, "error", "RuntimeError: ?[31mAAAA"),
        pytest.param(FORKS, "error", "PermissionError", marks=on_linux),
    ],
    ids=["hangs", "sys.exit", "os._exit", "segfault", "input", "shouts", "forks"],
)
def test_trouble_in_one_function(submission, solution, graded, code, outcome, says):
    folder = submission("anna", **{EX02: solution(EX02) + code})
    report = graded(folder, "--only", EX02, "--time-limit", 1)
    assert outcomes(report, f"{EX02}.scale_scores") == {outcome}
    assert says in exercise(report, f"{EX02}.scale_scores")["checks"][0]["message"]
    assert exercise(report, f"{EX02}.score_spread")["devices"]["cpu"]["outcome"] == "solved"


def test_a_loop_that_swallows_the_clock_is_ended_from_outside(submission, solution, graded):
    folder = submission("anna", **{EX02: solution(EX02) + SWALLOWS})
    report = graded(folder, "--only", EX02, "--time-limit", 0.5)
    assert "timeout" in outcomes(report, f"{EX02}.scale_scores")
    assert exercise(report, f"{EX02}.score_spread")["devices"]["cpu"]["outcome"] == "solved"


def test_keyboard_interrupt_of_an_answer_does_not_stop_the_grader(submission, solution, graded):
    folder = submission("anna", **{EX02: solution(EX02) + BREAKS_OFF})
    report = graded(folder, "--only", EX02)
    assert outcomes(report, f"{EX02}.scale_scores") <= {"crashed", "error"}
    assert exercise(report, f"{EX02}.score_spread")["devices"]["cpu"]["outcome"] == "solved"


@pytest.mark.parametrize(
    ("text", "outcome", "says"),
    [
        ("def scale_scores(scores, d_k:\n", "error", "line 1"),
        ("while True:\n    pass\n", "timeout", "imported"),
        ("import os\nos._exit(3)\n", "crashed", "status 3"),
        ("import sys\nsys.exit('bye')\n", "error", "SystemExit"),
        ("import does_not_exist\n", "error", "does_not_exist"),
        ("x = 'gr\xfc\xdfe'\n".encode("latin-1"), "error", "is not Python yet"),
        ("\0", "error", "null byte"),
    ],
    ids=["syntax", "hangs", "os._exit", "sys.exit", "import", "latin-1", "null"],
)
def test_trouble_in_a_whole_file(submission, graded, text, outcome, says):
    folder = submission("anna", **{EX02: text})
    report = graded(folder, "--only", EX02, "--time-limit", 1)
    assert outcomes(report, f"{EX02}.scale_scores") == {outcome}
    message = exercise(report, f"{EX02}.scale_scores")["checks"][0]["message"]
    assert says in message
    assert "Traceback" not in message


def test_a_missing_function_is_not_started(submission, graded):
    folder = submission("anna", **{EX02: "def scaled_scores(query, key):\n    return query\n"})
    report = graded(folder, "--only", EX02)
    found = exercise(report, f"{EX02}.scale_scores")
    assert found["devices"]["cpu"]["outcome"] == "not started"
    assert "has no `scale_scores`" in found["checks"][0]["message"]


def test_another_signature_is_said(submission, solution, graded):
    code = "\n\ndef scale_scores(scores):\n    return scores\n"
    folder = submission("anna", **{EX02: solution(EX02) + code})
    report = graded(folder, "--only", "scale_scores")
    check = exercise(report, f"{EX02}.scale_scores")["checks"][0]
    assert check["outcome"] == "error"
    assert check["slip"] == "other_signature"
    assert "keep the signature" in " ".join(check["message"].split())


def test_one_file_only(submission, solution, graded):
    absent = {f"ex0{n}_{s}": None for n, s in [(1, "scores"), (3, "masking"), (5, "mixing")]}
    folder = submission("anna", **absent)
    report = graded(folder)
    exercises = report["submissions"][0]["exercises"]
    states = {e["exercise"]: e["devices"]["cpu"]["outcome"] for e in exercises}
    assert states["ex01_scores.dot_product"] == "not started"
    assert states["ex04_softmax.softmax"] == "solved"
    assert states["ex02_scaling.scaled_scores"] == "wrong"
    waits = exercise(report, "ex02_scaling.scaled_scores")["checks"][0]["message"]
    says = "dot_product_scores, which is in ex01_scores.py, and there is no such file"
    assert says in " ".join(waits.split())


def test_trouble_in_one_submission_leaves_the_others_alone(submission, solution, graded):
    submission("a-crash", **{EX02: solution(EX02) + CRASHES})
    good = submission("b-good")
    (good.parent / "c-empty").mkdir()
    report = graded(good.parent, "--only", EX02, "--jobs", 2, status=1)
    crash, right, empty = report["submissions"]
    assert (crash["id"], right["id"], empty["id"]) == ("a-crash", "b-good", "c-empty")
    assert right["score"]["cpu"] == right["max"] > crash["score"]["cpu"] > 0
    assert (empty["status"], right["status"]) == ("ungradable", "graded")
    assert "hand in ex*.py" in empty["problem"]


def test_a_file_with_nothing_in_it_is_named():
    told = Told()
    sources({"ex01_scores.py": b"\n", "ex02_scaling.py": b"x = 1\n"}, told=told)
    assert told.notes == ["nothing is in ex01_scores.py"]
    assert told.unused == []
