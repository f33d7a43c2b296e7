"""GitHub Classroom: two lines for the environment of its reporter, `EARNED_RESULTS` and the rest.

The reporter counts twice: it prints passed tests as a share of the points, and sends the sum of
the tests' scores. With partial credit the two differ, unless what is earned and what is still
open are two runners: then every test of the first passes, none of the second, and both agree.
"""

from __future__ import annotations

import base64
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from grader.reports.digest import as_text, not_used, problems
from grader.reports.gradescope import the_one
from grader.reports.text import for_log, one_line
from grader.results import ExerciseResult, Run, SubmissionResult, number

RUNNERS = ("earned", "open")
# Linux takes 128 KiB for one variable with its name
LONGEST = 100_000


def write(run: Run, path: Path) -> None:
    """Write `NAME=value` lines, as `$GITHUB_ENV` takes them.

    Raises:
        ValueError: the run is of several submissions, or of none.
    """
    submission = the_one(run, "classroom")
    both = zip(RUNNERS, (earned(submission), still_open(submission)), strict=True)
    lines = [f"{runner.upper()}_RESULTS={_encoded(results)}\n" for runner, results in both]
    path.write_text("".join(lines), encoding="ascii")


def earned(submission: SubmissionResult) -> dict[str, Any]:
    """Return the results of the runner that has every point of the submission."""
    got = [(e, e.earned(submission.counted)) for e in _graded(submission)]
    tests = [
        _test(exercise, "pass", number(points), f"{_of(points, exercise)} earned")
        for exercise, points in got
        if points
    ]
    _add_up(tests, number(submission.final))
    # without a test the reporter divides 0 by 0
    tests = tests or [_nothing("no points yet", "fail")]
    if submission.unused:
        # here, where it is no share of anything
        tests.append(_nothing(f"not used: {not_used(submission)}", "pass"))
    return _results("pass", number(submission.final), tests)


def still_open(submission: SubmissionResult) -> dict[str, Any]:
    """Return the results of the runner that has the points that are still to earn."""
    tests = [_open(e, submission.counted) for e in _graded(submission)]
    left = [test for test in tests if test is not None]
    if submission.problem:
        said = for_log(one_line(submission.problem))
        left = [{**_nothing("it could not be graded", "error"), "message": said}]
    status = ("error" if submission.problem else "fail") if left else "pass"
    points = number(submission.maximum - submission.final)
    return _results(status, points, left or [_nothing("nothing is left to do", "pass")])


def _graded(submission: SubmissionResult) -> tuple[ExerciseResult, ...]:
    return () if submission.problem else submission.of("core")


def _open(exercise: ExerciseResult, device: str) -> dict[str, Any] | None:
    left = exercise.points - exercise.earned(device)
    if not left:
        return None
    state = exercise.state(device)
    found = problems(exercise, device)
    said = found[0].headline if found and state != "not started" else state
    test = _test(exercise, "fail", 0, f"{_of(left, exercise)} open, {state}")
    test["message"] = for_log(said)
    test["test_code"] = "" if state == "not started" else for_log(as_text(found, (device,)))
    return test


def _test(exercise: ExerciseResult, status: str, score: float, said: str) -> dict[str, Any]:
    name = one_line(exercise.exercise)
    return {
        **_nothing(f"{name}: {said}", status),
        "score": score,
        "task_id": name,
        "filename": f"{name.partition('.')[0]}.py",
    }


def _of(points: Fraction, exercise: ExerciseResult) -> str:
    return f"{number(points):g} of {number(exercise.points):g} points"


def _nothing(name: str, status: str) -> dict[str, Any]:
    return {
        "name": for_log(name),
        "status": status,
        "message": "",
        "score": 0,
        "test_code": "",
        "task_id": "",
        "filename": "",
        "line_no": 0,
        "duration": 0,
        "output": "",
    }


def _results(status: str, points: float, tests: list[dict[str, Any]]) -> dict[str, Any]:
    return {"version": 3, "status": status, "message": "", "max_score": points, "tests": tests}


def _add_up(tests: list[dict[str, Any]], total: float) -> None:
    """Make the plain sum of the scores the total, without the crumbs of binary fractions."""
    if tests:
        # not sum(): since Python 3.12 it is more exact than the reporter's JavaScript
        so_far = 0.0
        for test in tests[:-1]:
            so_far += test["score"]
        tests[-1]["score"] = total - so_far


def _encoded(results: dict[str, Any]) -> str:
    """Encode for the environment; where messages are too long for it, they are cut."""
    most = 20_000
    while True:
        tests = [{**test, "test_code": _cut(test["test_code"], most)} for test in results["tests"]]
        text = json.dumps({**results, "tests": tests}, ensure_ascii=False)
        encoded = base64.b64encode(text.encode("utf-8")).decode("ascii")
        if len(encoded) <= LONGEST or not most:
            return encoded
        most //= 2


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..." if most else ""
