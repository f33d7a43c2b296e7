"""What novices were told wrongly, each with what is said instead."""

from __future__ import annotations

import pytest

from grader.chapters import World, catalogue
from grader.judging.judge import Judge
from grader.suite.compare import Finding
from grader.suite.refusals import all_refused, refusal
from grader.trouble import HangsError

LATER = "def padding_mask(lengths, n):\n    return torch.arange(n) < lengths[:, None]\n"
LARGEST = """
def softmax(scores, dim=-1):
    powers = torch.exp(scores - scores.max(dim, keepdim=True).values)
    return powers / powers.sum(dim, keepdim=True)
"""
FLAT = """
_right = softmax


def softmax(scores, dim=-1):
    return _right(scores, dim) if scores.numel() else scores.new_zeros(0)
"""
DRAWN_HERE = """
def score_spread(d_k, pairs, generator=None):
    queries = torch.randn(pairs, d_k, generator=generator)
    return (queries * torch.randn(pairs, d_k, generator=generator)).sum(-1).std()
"""
SAID = {
    "two dimensions of lengths": (
        "ex03_masking.padding_mask", LATER, "refuses[padding_mask-lengths_is_not_a_vector]",
        "It does stop, but with another error", "uint8",
    ),
    "the largest of nothing": (
        "ex04_softmax.softmax", LARGEST, "of_nothing[softmax]",
        'An empty tensor has no largest score * The stub "An empty tensor gives an empty one."',
        "however large",
    ),
    "the shape of nothing": (
        "ex04_softmax.softmax", FLAT, "of_nothing[softmax]",
        "There is nothing in it, and still it has a shape", "however large",
    ),
    "the device of a generator": (
        "ex02_scaling.score_spread", DRAWN_HERE, "score_spread_is_device_ready",
        'The stub "Every number is drawn with `generator`, on its device', "The rules",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("full", "text", "check", "says", "not_this"), SAID.values(), ids=SAID)
def test_it_is_said_rightly(submission, solution, full, text, check, says, not_this):
    stem = full.split(".")[0]
    folder = submission("novice", **{stem: f"{solution(stem)}\n\n{text}"})
    judge = Judge(catalogue(), World(folder, catalogue().names()))
    asked = next(one for one in catalogue().exercise(full).checks if one.name == check)
    said = " ".join(judge.judge(asked).message.split())
    at = 0
    for part in says.split(" * "):
        assert part in said[at:]
        at = said.index(part, at)
    assert not_this not in said


def test_widths_of_a_head_are_honest(submission, solution):
    text = (
        solution("ex06_heads").replace("differ in width", "differ")
        + """

def multi_head(query, key, value, n_heads, mask=None):
    if query.shape[-1] != value.shape[-1]:
        raise ValueError(f"{query.shape[-1]} and {value.shape[-1]}")
    split = [split_heads(one, n_heads) for one in (query, key, value)]
    try:
        return merge_heads(attention(*split, None if mask is None else mask.unsqueeze(-3)))
    except ValueError:
        one, other = split[0].shape[-1], split[1].shape[-1]
        raise ValueError(f"a query is {one} wide and a key {other}") from None
"""
    )
    folder = submission("novice", ex06_heads=text)
    judge = Judge(catalogue(), World(folder, catalogue().names()))
    name = "refuses[multi_head-query_key_and_value_differ_in_width]"
    [check] = [c for c in catalogue().exercise("ex06_heads.multi_head").checks if c.name == name]
    assert judge.judge(check).passed


def test_a_hang_is_no_wrong_refusal():
    def hangs(_, __):
        raise HangsError("ex04_softmax.softmax")

    with pytest.raises(HangsError):
        all_refused(None, None, refusal("softmax", "ValueError: no.", ("`a` is [7]", hangs)))
    with pytest.raises(Finding):
        all_refused(None, None, refusal("softmax", "ValueError: no.", ("`a` is [7]", lambda *_: 1)))
