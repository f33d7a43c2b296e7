"""The dtype that a case says is held, whatever goes in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from grader.suite import Case, Draw, Finding, reference
from grader.suite.laws import values


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
