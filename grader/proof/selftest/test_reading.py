"""What a message tells a student to read on is there, word for word, in what the pack holds."""

from __future__ import annotations

import doctest

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main
from grader.coach import card as card_for
from grader.coach import declared
from grader.coach.common import COMMON, NARROWED, OTHER_ORDER, RANDOM, TOGETHER
from grader.coach.known_errors import ERRORS
from grader.hints.cards import card, cards
from grader.judging import explain
from grader.judging.outcome import Outcome
from grader.proof.read_on import is_there, sections, stub
from grader.release.pack import AS_THEY_ARE
from grader.suite.compare import Finding

OF_CHAPTERS = [
    one for stem in catalogue().names() for n in ("ERRORS", "FINDINGS") for one in declared(stem, n)
]
WITH_CARDS = (
    *COMMON, RANDOM, OTHER_ORDER, TOGETHER, *NARROWED.values(), *ERRORS, *OF_CHAPTERS,
)  # fmt: skip


def test_slips_of_every_function_lead_to_cards_that_are_there():
    reads = {slip.read for slip in WITH_CARDS if slip.read}
    assert reads
    assert all(is_there(read) for read in reads)


@pytest.mark.parametrize(
    "read",
    [
        'document 002, "Naive Attention"',
        'chapter 1, The formula: "a sentence that nobody wrote"',
        'chapter 1, Nowhere: "score(a, b) = a . b"',
        'the stub of nothing: "The sum"',
        "exercises/RULES.md, manners",
        card_for("nothing"),
    ],
)
def test_what_is_not_there_is_told(read):
    assert not is_there(read)


def test_the_pack_holds_the_pages():
    assert {"exercises/CARDS.md", "exercises/RULES.md"} <= set(AS_THEY_ARE)


def test_a_message_about_memory_leads_to_the_card():
    finding = Finding("value", "the output", None, None)
    lines = explain._of_finding(
        Outcome("failed", finding, tried=NARROWED["strides"]), finding, None
    )
    assert any("Read on" in line and "hint strides" in line for line in lines)


def test_the_message_in_the_readme_is_what_is_printed():
    """Its slip, where to read on and the stub's sentence; the test of the pack has the rest."""
    shown = (places.ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]
    softmax = next(e for e in catalogue().exercises() if e.name == "softmax")
    slip = next(slip for slip in softmax.task.slips if slip.name == "over_queries")
    shown = " ".join(shown.split())
    assert f"Likely slip {slip.says} Read on {slip.read} Called as" in shown
    assert shown.split("The stub")[1].strip('" ') in stub("softmax")


# ---- the cards ----


@pytest.mark.parametrize("title", cards())
def test_the_examples_of_a_card_run(title):
    import torch

    examples = doctest.DocTestParser().get_doctest(
        cards()[title], {"torch": torch}, title, str(places.CARDS), 0
    )
    assert examples.examples
    said: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(examples, out=said.append).failed == 0, said


def test_cards_do_not_hide_functions():
    names = {name for one in catalogue().exercises() for name in (one.name, one.stem)}
    assert not [name for name in names if card(name, 80)]


@pytest.mark.parametrize("word", ["strides", "Stride", "contiguous", "gradients", "copy", "batch"])
def test_a_card_by_any_of_its_words(word, capsys):
    assert main(["hint", word]) == 0
    said = capsys.readouterr().out
    assert ">>> " in said
    assert "## " not in said


@pytest.mark.parametrize("width", [40, 60, 88])
def test_a_card_fits_the_screen(width):
    prose = [line for title in cards() for line in card(title.split(", ")[0], width)
             if not line.startswith("    ")]  # fmt: skip
    assert prose
    assert max(map(len, prose)) <= width


def test_a_page_of_cards_that_is_lost_is_no_trouble(tmp_path):
    assert card("strides", 80, tmp_path / "CARDS.md") is None


def test_the_chapters_name_the_cards():
    for stem in catalogue().names():
        assert "CARDS.md" in sections(stem)["The rules"]
