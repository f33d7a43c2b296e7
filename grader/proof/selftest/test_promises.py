"""Citations, the sentences of a stub, and the page of rules: what the proof ties together."""

from __future__ import annotations

import pytest

from grader import places
from grader.suite.promises import RETURNS, Rule, cited, promising, quoted, rules

STUB = """Sum up in a line.

Difficulty 1 of 5, about 5 minutes.

The first key counts. So does the last one.

Args:
    x: what is given [n]. None: nothing is.

Returns:
    One number []. With 0 entries it is 0.

Raises:
    ValueError: `x` is not a vector.

Source: document 000.

Example:
    >>> 1 + 1
    2
"""
PAGE = {"dtype": "The output has the dtype of its inputs."}


def test_what_a_stub_promises():
    assert promising(STUB) == [
        "The first key counts.", "So does the last one.", "None: nothing is.", "One number [].",
        "With 0 entries it is 0.", "ValueError: `x` is not a vector.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("citation", "says"),
    [
        (RETURNS, "One number []."),
        ("With 0", "With 0 entries it is 0."),
        (Rule("dtype"), PAGE["dtype"]),
        (Rule("dtypes"), None),
        ("with 0", None),
        ("", "One number []."),
    ],
)
def test_a_citation_means_one_sentence(citation, says):
    assert cited(citation, STUB, PAGE) == says


def test_a_beginning_of_two_sentences_means_neither():
    assert cited("The", STUB.replace("So does", "The same holds for"), PAGE) is None


def test_of_an_argument_all_is_quoted():
    assert quoted("None: ", STUB, PAGE) == "x: what is given [n]. None: nothing is."
    assert quoted("With 0", STUB, PAGE) == "With 0 entries it is 0."


def test_the_page_of_rules_is_read():
    page = rules(places.RULES)
    assert {"arguments", "dtype", "device", "batch", "refusals", "ready-made"} <= set(page)
    assert all(text.endswith(".") for text in page.values())
