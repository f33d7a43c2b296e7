"""The dtype that a case says is held, whatever goes in; and what says which gradient is cut off."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from grader.suite import Case, Draw, Finding, reference
from grader.suite.laws.gradients import gradients_match
from grader.suite.laws.outputs import values


@reference
def halves(x):
    return x.double() / 2


def whole_numbers(draw):
    return (draw.integers(0, 9, 5),)


def numbers(draw):
    return (draw(5),)


@pytest.mark.parametrize("inputs", [whole_numbers, numbers])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_output_has_the_dtype_that_its_case_says(inputs, dtype):
    case = Case("halves", inputs, halves, dtype=dtype)
    values(SimpleNamespace(halves=lambda x: (x / 2).to(dtype)), Draw(3), case)
    with pytest.raises(Finding) as found:
        values(SimpleNamespace(halves=lambda x: (x / 2).double()), Draw(3), case)
    assert (found.value.kind, found.value.expected.dtype) == ("dtype", dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_numbers_that_are_distinct_have_one_order_in_every_dtype(dtype):
    drawn = Draw(3, dtype=dtype).distinct(5, 2, 256)
    assert drawn.dtype == dtype
    assert torch.equal(drawn.double(), Draw(3).distinct(5, 2, 256).double())
    assert all(len(row.unique()) == 256 for row in drawn.flatten(0, 1))


def test_a_gradient_that_is_cut_off_is_told_by_what_is_cut_off():
    a, b = (torch.ones(3, requires_grad=True) for _ in "ab")
    leaves, pull, twos = [("a", a), ("b", b)], (torch.ones(3), torch.ones(3)), torch.full((3,), 2.0)
    told = []
    for output in (
        (a * 2, b.detach() * 2),
        (a + b, (a + b).detach()),
        (a.detach() * 2, b.detach() * 2),
    ):
        with pytest.raises(Finding) as found:
            gradients_match(output, leaves, [twos, twos], pull)
        told.append((found.value.label, found.value.detail))
    assert told == [
        ("`b`", "one input"),
        ("the inputs from the second output (`output[1]`)", "any input"),
        ("the inputs from the first output (`output[0]`)", "any input"),
    ]
