"""Runs that never were, for the tests of the reports: random results, and texts that attack."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult

VERDICTS = ("failed", "error", "timeout", "crashed", "forbidden", "not started")
MESSAGE = """{name}: 3 of 9 values of the output differ, first at [0, 0]: expected 1, got {got}

    expected             yours
    1.000 0.000 0.000    0.424* 0.000  0.000

  Likely slip  Your columns sum to 1, not your rows: softmax ran over dim -2, the
               queries.
  Called as    softmax(float32 [3, 3])"""
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;]]>-->{{ 7*7 }}{% raw %}",
    "=HYPERLINK(\"x\")",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1+1",
    "a,b;c\n=d\"e",
    "\x1b[31mred\x1b]0;title\x07\x08\x7f\x9b2J",
    "first\n::set-output name=score::100\n  ::error::no\n##[error]no\n##vso[task.complete]",
    "one\r\n::add-mask::two\r::stop-commands::x\x0b\x0c\x85\u2028\u2029end",
    "lone \ud800 and \udcff",
    "nul \x00 \ufffe \uffff",
    "user\u202egnp.exe \u2066\u200f\u061c\ufeff",
    "long " + "é" * 400_000,
    "e\u0301" * 50_000,
    "%s %d {0} $(id) `id` ${HOME} ../../etc/passwd C:\\con",
    "",
    "EOF\nNAME=value\nEARNED_RESULTS=x",
)  # fmt: skip


def random_run(seed: int, submissions: int = 1) -> Run:
    """Make up a run: any verdicts, any devices, points to the hundredth."""
    dice = random.Random(seed)
    devices = dice.choice([("cpu",), ("cpu", "cuda"), ("cuda",), ("cuda", "cpu")])
    shares = _shares(dice)
    said = {d: "run" if d in devices else dice.choice(["absent", "not asked"])
            for d in ("cpu", "cuda")}  # fmt: skip
    further = random.Random(f"beyond {seed}")
    made = tuple(
        SubmissionResult(f"student {place}", problem="the archive cannot be read")
        if dice.random() < 0.1
        else _with_some_beyond(further, _submission(dice, f"student {place}", devices, shares))
        for place in range(submissions)
    )
    return Run("0.1.0", "2.13.0", seed, said, made, "Landlock, seccomp")  # type: ignore[arg-type]


def _shares(dice: random.Random) -> list[Fraction]:
    cuts = sorted(dice.sample(range(1, 10_000), dice.randint(1, 30)))
    edges = [0, *cuts, 10_000]
    return [Fraction(b - a, 100) for a, b in itertools.pairwise(edges)]


def _submission(dice, name, devices, shares) -> SubmissionResult:
    exercises = []
    for place, points in enumerate(shares):
        full = f"ex{place // 5 + 1:02}_chapter.task_{place}"
        total = dice.randint(1, 7)
        skill = dice.choice([0, 0.5, 0.9, 1, 1])
        checks = [_check(dice, full, n, d, skill) for d in devices for n in range(total)]
        exercises.append(ExerciseResult(full, points, total, tuple(checks)))
    return SubmissionResult(name, exercises=tuple(exercises), devices=devices)


def _with_some_beyond(dice, submission) -> SubmissionResult:
    """Let half of them have begun what lies beyond the seven chapters."""
    if dice.random() < 0.5:
        return submission
    further = _submission(dice, "", submission.devices, [Fraction(37), Fraction(63)]).exercises
    renamed = (
        replace(
            one,
            exercise=one.exercise.replace("ex01_chapter.task", "ex14_chapter.further"),
            track="beyond",
        )
        for one in further
    )
    return replace(submission, exercises=(*submission.exercises, *renamed))


def _check(dice, full, number, device, skill) -> CheckResult:
    verdict = "passed" if dice.random() < skill else dice.choice(VERDICTS)
    message = "" if verdict == "passed" else MESSAGE.format(name=full, got=dice.random())
    slip = dice.choice([None, "softmax_of_columns"]) if verdict == "failed" else None
    return CheckResult(f"check[{number}]", device, verdict, number == 0, message, slip)


def hostile_run(text: str) -> Run:
    """Make up a run in which a submission says `text` wherever it can say anything."""

    def failed(device: str, verdict: str) -> CheckResult:
        message = f"dot_product stopped with {text}\n\n    {text}\n\n  Because      {text}"
        return CheckResult(f"values[{text}]", device, verdict, True, message, None)

    checks = tuple(failed(device, v) for device in ("cpu", "cuda") for v in VERDICTS)
    exercise = ExerciseResult("ex01_scores.dot_product", Fraction(100), len(VERDICTS), checks)
    graded = SubmissionResult(text, exercises=(exercise,), devices=("cpu", "cuda"))
    return Run("0.1.0", "2.13.0", 3, {"cpu": "run", "cuda": "run"}, (graded,), "none")


def ungradable_run(text: str) -> Run:
    """Make up a run of one submission that could not be graded because of `text`."""
    devices = {"cpu": "run", "cuda": "absent"}
    broken = SubmissionResult(text, problem=text or "broken")
    return Run("0.1.0", "2.13.0", 3, devices, (broken,))  # type: ignore[arg-type]
