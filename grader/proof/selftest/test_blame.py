"""Who is to blame is found out with as few runs as it takes."""

from __future__ import annotations

import pytest

from grader import places
from grader.chapters import World, catalogue
from grader.judging.judge import Judge
from grader.judging.result import check_result


def judged(folder, exercise):
    known = catalogue()
    judge = Judge(known, World(folder, known.names()))
    outcomes = [judge.judge(check) for check in known.exercise(exercise).checks if check.core]
    return judge, [outcome for outcome in outcomes if not outcome.passed]


def test_earlier_chapters_are_not_run_for_a_mistake_that_is_none_of_theirs(submission, solution):
    text = solution("ex05_mixing").replace("if causal else", "if not causal else")
    assert text != solution("ex05_mixing")
    judge, failed = judged(submission("own", ex05_mixing=text), "ex05_mixing.self_attention")
    assert failed
    assert not any(outcome.blame for outcome in failed)
    assert {stem for stem, _ in judge.recogniser.seen} == {"ex05_mixing"}


def test_an_earlier_function_is_blamed_in_a_chapter_run_alone(submission, solution):
    text = solution("ex04_softmax").replace("powers.sum(dim,", "powers.sum(-2,")
    _, failed = judged(submission("wrong", ex04_softmax=text), "ex05_mixing.attention")
    assert failed
    assert {outcome.blame for outcome in failed} == {("ex04_softmax.softmax",)}


def test_who_lets_a_misfit_through_is_blamed_where_it_had_to_be_refused(submission, solution):
    batches = "        and query.shape[:-2] == key.shape[:-2]\n"
    assert solution("ex01_scores").count(batches) == 1
    careless = solution("ex01_scores").replace(batches, "")
    careless = careless.replace("query.ndim == key.ndim >= 2", "min(query.ndim, key.ndim) >= 2")
    folder = submission("careless", ex01_scores=careless)
    known = catalogue()
    judge = Judge(known, World(folder, known.names()))

    def outcome(full, name):
        return judge.judge(next(c for c in known.exercise(full).checks if name in c.name))

    for full in ("ex02_scaling.scaled_scores", "ex05_mixing.attention"):
        assert outcome(full, "differ_in_their_batch").blame == ("ex01_scores.dot_product_scores",)
        assert outcome(full, "differ_in_width").passed


def test_a_refusal_of_ones_own_that_is_missing_is_blamed_on_nobody(submission, solution):
    text = solution("ex06_heads").replace(" or x.shape[-1:] != width", "")
    assert text != solution("ex06_heads")
    known = catalogue()
    judge = Judge(known, World(submission("own", ex06_heads=text), known.names()))
    checks = known.exercise("ex06_heads.multi_head").checks
    failed = [one for one in map(judge.judge, checks) if not one.passed]
    assert failed
    assert not any(one.blame for one in failed)


def test_who_was_blamed_last_need_not_have_a_part_in_another_check(submission, solution):
    text = solution("ex07_model")
    for old, new in (
        ("        return x.mean(1)", "        return x.sum()"),
        ("    return losses\n", "    return losses[::-1]\n"),
        (
            "    for module, flag in flags:\n        module.training = flag\n",
            "    model.train(flags[0][1])\n",
        ),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    known = catalogue()
    judge = Judge(known, World(submission("three", ex07_model=text), known.names()))
    blame = {}
    for name in ("mean_pool", "train", "predict"):
        for check in known.exercise(f"ex07_model.{name}").checks:
            outcome = judge.judge(check)
            if not outcome.passed:
                blame[check.name] = outcome.blame
    assert blame["predict_not_like"] == ("ex07_model.mean_pool",)
    assert blame["predict_leaves_each_training_flag"] == ()


@pytest.mark.parametrize("right", [True, False])
def test_who_waits_for_what_is_not_started_is_tried_with_that_put_right(
    submission, solution, right
):
    text, stub = solution("ex02_scaling"), (places.EXERCISES / "ex01_scores.py").read_text("utf-8")
    scale = "scale_scores(dot_product_scores(query, key), key.shape[-1])"
    assert text.count(scale) == 1
    if not right:
        text = text.replace(scale, "dot_product_scores(query, key)")
    folder = submission("not_begun", ex01_scores=stub, ex02_scaling=text)
    judge, failed = judged(folder, "ex02_scaling.scaled_scores")
    assert {outcome.stuck_at for outcome in failed} == {"ex01_scores.dot_product_scores"}
    assert all(outcome.follows == right for outcome in failed)
    checks = judge.catalogue.exercise("ex02_scaling.scaled_scores").checks
    [told] = {check_result(one, judge.judge(one), "cpu").because for one in checks if one.core}
    assert told == ("ex01_scores.dot_product_scores",)
