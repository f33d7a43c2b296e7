"""Checks led by heart: the same verdicts as if each was worked out, never for a wrong word."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader import places, trouble
from grader.chapters import catalogue
from grader.hearings import by_heart
from grader.hearings.hearing import Hearing, Limits
from grader.judging import judge
from grader.remote import talk
from grader.remote.held import chapters_in
from grader.remote.talk import ByHeart

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a nursery"),
]
STEM = "ex04_softmax"
Told = list[tuple[str, str, str, str | None]]
Hear = Callable[..., Told]


@pytest.fixture
def hear(starter) -> Hear:
    """Hear chapter 4 of a folder; what was said before is known if a memory is handed over."""

    def told(folder: Path, memory: ByHeart | None = None, seed: int = 3) -> Told:
        limits = Limits(seconds=2.0)
        hearing = Hearing(
            catalogue(), starter, chapters_in(folder), "cpu", seed, limits, by_heart=memory
        )
        checks = [e for e in catalogue().exercises() if e.stem == STEM]
        return [(r.check, r.verdict, r.message, r.slip) for r in hearing.results(checks)]

    return told


@pytest.fixture
def worked_out(monkeypatch) -> list[str]:
    """List the checks that are run, and fail if one says another thing than before."""
    names: list[str] = []

    def noted(run):
        def listed(check, world, *rest, **named):
            names.append(check.name)
            return run(check, world, *rest, **named)

        return listed

    def fails() -> None:
        pytest.fail("a check that was run did not say what it had said")

    monkeypatch.setattr(by_heart, "run", noted(by_heart.run))
    monkeypatch.setattr(judge, "run", noted(judge.run))
    monkeypatch.setattr(trouble.Diverged, "__init__", lambda *_: fails())
    return names


def test_what_was_said_once_is_not_worked_out_again(hear, worked_out):
    memory = ByHeart()
    first = hear(places.SOLUTIONS, memory)
    assert len(worked_out) == len(first)
    assert hear(places.SOLUTIONS, memory) == first
    assert len(worked_out) == len(first)


def test_another_seed_is_worked_out(hear, worked_out):
    memory = ByHeart()
    first = hear(places.SOLUTIONS, memory)
    hear(places.SOLUTIONS, memory, seed=4)
    # but for checks without a drawn number
    assert len(worked_out) == 2 * len(first)


@pytest.mark.parametrize("name", ["einsum", "float64_inside", "library", "views"])
def test_other_right_answers_are_right(hear, worked_out, name):
    memory = ByHeart()
    hear(places.SOLUTIONS, memory)
    alone = hear(places.VARIANTS / name)
    assert hear(places.VARIANTS / name, memory) == alone
    known = len(worked_out)
    assert hear(places.VARIANTS / name, memory) == alone
    assert len(worked_out) == known


WRONG = {
    "late": """
_right, _calls = softmax, []


def softmax(scores, dim=-1):
    _calls.append(1)
    return _right(scores, dim) if len(_calls) % 2 else _right(scores, dim) * 1.01
""",
    "dtype": """
_right = softmax


def softmax(scores, dim=-1):
    return _right(scores, dim).to(torch.float32)
""",
    "error": """
_right = softmax


def softmax(scores, dim=-1):
    if scores.dim() == 3:
        raise RuntimeError("three")
    return _right(scores, dim)
""",
    "gradient": """
_right = softmax


def softmax(scores, dim=-1):
    return _right(scores.detach(), dim) + (scores - scores.detach())
""",
    "inputs": """
_right = softmax


def softmax(scores, dim=-1):
    out = _right(scores, dim)
    scores.data.add_(1)
    return out
""",
    # the check passes but for what it leaves behind, and the next to say the same is told so, too
    "left behind": """
_right = softmax


def softmax(scores, dim=-1):
    out = _right(scores, dim)
    if scores.dtype != torch.float32 and scores.numel() == 1:
        with torch.no_grad():
            scores.zero_()
    return out
""",
    "gone": """
import os
_right, _calls = softmax, []


def softmax(scores, dim=-1):
    _calls.append(1)
    if len(_calls) == 4:
        os._exit(3)
    return _right(scores, dim)
""",
    "slow": """
import time
_right, _calls = softmax, []


def softmax(scores, dim=-1):
    _calls.append(1)
    if len(_calls) == 3:
        time.sleep(60)
    return _right(scores, dim)
""",
    # the first words are known, the time that they took counts all the same
    "slow in all": """
import time
_right, _calls = softmax, []


def softmax(scores, dim=-1):
    if scores.shape == (5, 7) and scores.dtype == torch.float32 and len(_calls) < 2:
        _calls.append(1)
        until = time.process_time() + 6.5
        while time.process_time() < until:
            pass
        return _right(scores, dim) * (1 + 1e-6)
    return _right(scores, dim)
""",
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_word_anywhere_is_heard(hear, worked_out, submission, solution, kind):
    folder = submission(kind, **{STEM: solution(STEM) + WRONG[kind]})
    alone = hear(folder)
    assert any(verdict != "passed" for _, verdict, *_ in alone)
    memory = ByHeart()
    hear(places.SOLUTIONS, memory)
    del worked_out[:]
    assert hear(folder, memory) == alone
    # and nothing of it is kept: the right answer is still right, the wrong one wrong
    del worked_out[:]
    assert all(verdict == "passed" for _, verdict, *_ in hear(places.SOLUTIONS, memory))
    assert worked_out == []
    assert hear(folder, memory) == alone


def test_the_source_is_looked_at_each_time(hear, worked_out, submission, solution):
    # the call waits in a branch that no check takes: only the source tells
    hidden = """
_right = softmax


def softmax(scores, dim=-1):
    if scores.numel() == 123_457:
        return torch.softmax(scores, dim)
    return _right(scores, dim)
"""
    memory = ByHeart()
    hear(places.SOLUTIONS, memory)
    told = hear(submission("hidden", **{STEM: solution(STEM) + hidden}), memory)
    assert next(verdict for name, verdict, *_ in told if "your_own" in name) == "forbidden"
    assert worked_out


def test_little_memory_costs_time_and_nothing_else(hear, worked_out, monkeypatch):
    monkeypatch.setattr(talk, "MOST_BYTES", 20_000)
    memory = ByHeart()
    first = hear(places.SOLUTIONS, memory)
    assert hear(places.SOLUTIONS, memory) == first
    assert len(worked_out) > len(first)
    assert memory._size <= 20_000


def test_what_calls_an_answer_is_counted_over_all_checks(starter):
    # what a slip gives is shared among submissions only where the answer was not asked for it
    hearing = Hearing(catalogue(), starter, chapters_in(places.SOLUTIONS), "cpu", 3)
    with contextlib.closing(hearing):
        counts = []
        for check in catalogue().exercise(f"{STEM}.softmax").checks[:4]:
            hearing.outcome(check)
            counts.append(hearing._deciding.asked)
    assert counts == sorted(set(counts))
