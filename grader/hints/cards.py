"""The cards: words that the chapters use, each explained in a few lines with an example."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from grader import places

HEAD = re.compile(r"^## ", re.MULTILINE)


def card(word: str, width: int, path: Path = places.CARDS) -> list[str] | None:
    """Return the card of a word as lines for a screen of this width; None if it has none.

    Args:
        word: as in the card's title; upper case or a plural makes no difference.
        width: of the screen.
        path: the page of cards.
    """
    wanted = _plain(word)
    for title, text in cards(path).items():
        if wanted in map(_plain, _named_by(title)):
            return [title, *_wrapped(text, width)]
    return None


def cards(path: Path = places.CARDS) -> dict[str, str]:
    """Return the text of each card by its title; nothing if the page is lost."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    parted = (one.partition("\n") for one in HEAD.split(text)[1:])
    return {title.strip(): body.strip("\n") for title, _, body in parted}


def words(path: Path = places.CARDS) -> list[str]:
    """List the words that have a card."""
    return [word.lower() for title in cards(path) for word in _named_by(title)]


def _named_by(title: str) -> list[str]:
    return title.split(", ")


def _plain(word: str) -> str:
    return word.lower().removesuffix("s")


def _wrapped(text: str, width: int) -> list[str]:
    """Fit the paragraphs to a screen; examples stay as they are."""
    lines: list[str] = []
    for block in text.split("\n\n"):
        example = block.startswith("    ")
        lines += ["", *(block.splitlines() if example else textwrap.wrap(block, width))]
    return lines
