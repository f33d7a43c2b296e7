"""Which sentences of an error say enough of what does not fit."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grader.suite.compare import Finding
from grader.suite.refusals import all_refused, refusal

ANSWER = SimpleNamespace(was_handed_on=lambda problem: False)
OF_DIMENSIONS = ("ValueError: `ids` must have two dimensions.", "`ids` is [5], with 1 dimension")
OF_SIZES = ("ValueError: `x` and `y` differ.", "`x` is [5, 3] and `y` is [5, 7]")


def hears(sentence, cites, why):
    def call(*_):
        raise ValueError(sentence)

    all_refused(ANSWER, None, refusal("generate", cites, (why, call)))


@pytest.mark.parametrize(
    ("sentence", "of"),
    [
        ("ids needs 2 dimensions, but has 1", OF_DIMENSIONS),
        ("a 1-dimensional ids", OF_DIMENSIONS),
        ("ids is torch.Size([5])", OF_DIMENSIONS),
        ("x is 5x3", OF_SIZES),
        ("3 != 7", OF_SIZES),
    ],
)
def test_a_size_or_where_dimensions_are_meant_their_number(sentence, of):
    hears(sentence, *of)


@pytest.mark.parametrize(
    ("sentence", "of"),
    [
        ("these ids do not fit", OF_DIMENSIONS),
        ("ids needs 2 dimensions", OF_DIMENSIONS),
        ("x and y have 2 dimensions", OF_SIZES),
        ("float32 and float64", OF_SIZES),
    ],
)
def test_what_names_nothing_of_the_misfit(sentence, of):
    with pytest.raises(Finding):
        hears(sentence, *of)
