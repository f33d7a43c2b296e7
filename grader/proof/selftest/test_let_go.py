"""What the judge keeps of an outcome once its message is written."""

from __future__ import annotations

import pytest
import torch

from grader import nested
from grader.chapters import World, catalogue
from grader.judging.evidence import (
    LARGEST,
    LONGEST,
    MOST_PARTS,
    TOO_MUCH,
    Evidence,
    alike,
    let_go,
)
from grader.judging.judge import Judge
from grader.judging.run import Setting

WIDER = """
import torch

def dot_product_scores(query, key):
    return torch.ones(*query.shape[:-1], {columns})
"""


def failed(folder):
    known = catalogue()
    judge = Judge(known, World(folder, known.names()), Setting())
    checks = known.exercise("ex01_scores.dot_product_scores").checks
    return next(o for o in map(judge.judge, checks) if o.finding is not None)


def test_what_is_large_goes_and_what_tells_slips_apart_stays(submission):
    large, small = (
        failed(submission(str(columns), ex01_scores=WIDER.format(columns=columns)))
        for columns in (LARGEST, 41)
    )
    for outcome, device in ((large, "meta"), (small, "cpu")):
        shape, message = outcome.finding.actual.shape, outcome.message
        before = Evidence.of(outcome)
        assert outcome.finding.__traceback__ is not None
        let_go(outcome)
        found = outcome.finding
        assert (found.actual.shape, found.actual.device.type) == (shape, device)
        assert found.actual.dtype == torch.float32
        assert found.__traceback__ is found.__context__ is outcome.call is None
        assert outcome.message == message
        assert alike(Evidence.of(outcome), before) == (device == "cpu")


@pytest.mark.parametrize(
    "returns",
    [
        "[torch.ones({large} // 10)] * {parts}",
        "torch.nn.Linear({large}, 9)",
        "{{'a': 'b' * {large}}}",
    ],
)
def test_nothing_is_kept_that_is_large_in_all(submission, returns):
    text = WIDER.replace("torch.ones(*query.shape[:-1], {columns})", returns)
    outcome = failed(submission("all", ex01_scores=text.format(parts=MOST_PARTS, large=LARGEST)))
    let_go(outcome)
    kept = nested.flat(outcome.finding.actual)
    assert not any(isinstance(one, torch.nn.Module) for one in kept)
    assert sum(one.numel() for one in kept if isinstance(one, torch.Tensor)) <= LARGEST
    assert sum(len(one) for one in kept if isinstance(one, str)) <= LONGEST * MOST_PARTS


@pytest.mark.parametrize("returns", ["[torch.ones(9)] * {parts}", "torch.ones(9, {large})[0]"])
def test_of_many_small_tensors_or_of_a_view_nothing_large_is_kept(submission, returns):
    text = WIDER.replace("torch.ones(*query.shape[:-1], {columns})", returns)
    outcome = failed(
        submission("much", ex01_scores=text.format(parts=MOST_PARTS + 1, large=LARGEST))
    )
    let_go(outcome)
    kept = outcome.finding.actual
    if not isinstance(kept, torch.Tensor):
        assert kept == TOO_MUCH
    else:
        assert kept.untyped_storage().nbytes() <= kept.numel() * kept.element_size()
