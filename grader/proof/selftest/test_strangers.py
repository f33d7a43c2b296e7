"""How strangers' wrong answers are named: what is counted, and when that is too little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.chapters import catalogue
from grader.judging.run import Setting
from grader.proof import strangers
from grader.proof.strangers.named import Named


def counted(right, wrong, unnamed):
    figure = Named()
    for said, times in (("a", right), ("b", wrong), ("", unnamed)):
        for _ in range(times):
            figure.hears("an answer", ("a", "c"), said)
    return figure


@pytest.mark.parametrize(
    ("right", "wrong", "unnamed", "proved"),
    [(90, 1, 9, True), (99, 1, 0, True), (89, 1, 10, False), (98, 2, 0, False), (0, 0, 0, False)],
)
def test_enough_are_named_rightly_and_few_wrongly(right, wrong, unnamed, proved):
    figure = counted(right, wrong, unnamed)
    assert figure.proved == proved
    assert f"rightly {right:.1f} %, wrongly {wrong:.1f} %" in figure.lines()[0]
    assert ("named b, not a or c" in "\n".join(figure.lines())) == (not proved and wrong > 0)


def test_figures_add_up():
    whole = counted(5, 0, 0)
    whole.add(counted(1, 2, 3))
    assert (whole.total, len(whole.wrongly), whole.unnamed) == (11, 2, 3)


def test_a_name_where_nothing_known_fits_is_a_wrong_one():
    figure = Named()
    figure.hears("an answer", (), "a")
    assert figure.wrongly == ["an answer: named a, not as anything we know"]


def test_the_answers_are_judged(monkeypatch):
    exercise = catalogue().exercise("ex02_scaling.scale_scores")
    half, *_ = (one for one in strangers.wrong_answers() if one.slips == ("half_the_width",))
    right = replace(half, what="right", source="", slips=())
    answers = [half, replace(half, slips=("divided_by_the_width",)), right]
    monkeypatch.setattr(strangers, "wrong_answers", lambda: answers)
    monkeypatch.setattr(strangers, "special_cases", list)
    rejected, named = strangers.strangers_told(exercise, Setting("cpu", 0))
    assert rejected.missing == ["ex02_scaling.scale_scores: right passes"]
    assert named.wrongly == [f"{half}: named half_the_width, not divided_by_the_width"]
    assert (named.total, named.unnamed) == (3, 1)


def test_each_answer_is_to_an_exercise_that_is_there():
    known = {one.full for one in catalogue().exercises()}
    assert {one.full for one in strangers.wrong_answers()} <= known
    assert any(one.slips for one in strangers.wrong_answers())
