"""Replies: how to write one, what a written one means, and how the answer is written."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from grader.quiz.asked import Asked, Value

LETTERS = "abcdefgh"
NONE = ("none", "nothing", "no", "-")
INFINITY = re.compile(r"(?:minus |- ?)(?:infinity|inf)\b")


def how(asked: Asked) -> str:
    """Say how to write a reply."""
    if asked.kind == "choice":
        return "A letter."
    if asked.kind == "shape":
        return "A shape, such as 2, 3."
    if asked.kind == "entries":
        if asked.detail == 1:
            return "Positions, such as 0 2; or: none."
        return "Entries as row,column, such as 0,1 2,0; or: none."
    count = len(asked.answer)
    if not asked.detail:
        return "A whole number." if count == 1 else f"{count} whole numbers."
    numbers = "A number" if count == 1 else f"{count} numbers"
    return f"{numbers}, to {asked.detail} decimal{'s' * (asked.detail > 1)}."


def read(asked: Asked, reply: str, options: Sequence[str]) -> Value | None:
    """Return what a reply means; None if it means nothing of the kind that was asked for.

    Args:
        asked: the question.
        reply: what was written.
        options: the texts to choose from, in the order of their letters.
    """
    text = reply.strip().lower().replace("\N{MINUS SIGN}", "-")
    if asked.kind == "choice":
        letter = text.strip("().: ")
        place = LETTERS.find(letter) if len(letter) == 1 else -1
        return (options[place],) if 0 <= place < len(options) else None
    if asked.kind == "shape":
        return _whole(text.replace("torch.size", " "), "x*\N{MULTIPLICATION SIGN}")
    if asked.kind == "entries":
        return _entries(text, asked.detail)
    return _numbers(text, len(asked.answer), asked.detail)


def written(asked: Asked, options: Sequence[str]) -> str:
    """Write the answer."""
    if asked.kind == "choice":
        text = asked.answer[0]
        return f"{LETTERS[options.index(text)]}, {text.removesuffix('.')}"
    if asked.kind == "shape":
        return f"[{', '.join(map(str, asked.answer))}]"
    if asked.kind == "entries":
        pairs = [",".join(map(str, one)) for one in asked.answer]
        return "  ".join(pairs) if pairs else "none"
    return ", ".join(_number(value, asked.detail) for value in asked.answer)


def _number(value: float, digits: int) -> str:
    if math.isinf(value):
        return "-inf" if value < 0 else "inf"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 makes -0.0 a 0


def _whole(text: str, also: str = "") -> tuple[int, ...] | None:
    """Read whole numbers between brackets, commas and what else may stand there."""
    words = re.sub(rf"[\s,;()\[\]{also}]+", " ", text).split()
    if not all(re.fullmatch(r"\d{1,9}", word) for word in words):
        return None
    return tuple(map(int, words))


def _entries(text: str, indices: int) -> Value | None:
    found = () if text in NONE else _whole(text)
    if found is None or len(found) % indices:
        return None
    return tuple(sorted({found[i : i + indices] for i in range(0, len(found), indices)}))


def _numbers(text: str, count: int, digits: int) -> Value | None:
    text = INFINITY.sub(" -inf ", re.sub(r"[()\[\]]", " ", text))
    if count == 1:  # a comma is no separator here: of decimals, or of thousands
        text = text.replace(",", "." if digits else "")
    words = re.sub(r"\s*%", "% ", re.sub(r"[\s,;]+", " ", text)).split()
    try:
        found = tuple(map(_one, words))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if len(found) == count and not any(map(math.isnan, found)) else None


def _one(word: str) -> float:
    if word.endswith("%"):
        return float(word[:-1]) / 100
    return float(Fraction(word)) if "/" in word else float(word)
