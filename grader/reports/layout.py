"""A message taken apart again, so that a page can set its words and its pictures differently."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from grader.reports.message import halves

LABEL = re.compile(r"  (?P<title>\S.{11}) (?P<text>\S.*)")
CONTINUED = " " * 15


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a message.

    Attributes:
        kind: words that may be wrapped anew; a picture or code, kept as it is; or labels.
        text: of words and pictures.
        labels: titles with their text: `Likely slip`, `Called as`, `The check`.
        halves: of a picture that has two, expected and yours, each of them.
    """

    kind: Literal["words", "picture", "labels"]
    text: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    halves: tuple[str, ...] = ()


def blocks(message: str) -> list[Paragraph]:
    """Split a message into paragraphs; pictures that follow each other are one."""
    found: list[Paragraph] = []
    for paragraph in re.split(r"\n{2,}", message.strip("\n")):
        block = _block(paragraph)
        follows = bool(found) and found[-1].kind == block.kind == "picture"
        if follows and not found[-1].halves and not block.halves:
            block = Paragraph("picture", f"{found.pop().text}\n\n{block.text}")
        found.append(block)
    return found if message.strip() else []


def _block(paragraph: str) -> Paragraph:
    lines = paragraph.split("\n")
    labels: list[tuple[str, str]] = []
    for line in lines:
        match = LABEL.fullmatch(line)
        if match:
            labels.append((match["title"].strip(), match["text"]))
        elif labels and line.startswith(CONTINUED):
            labels[-1] = (labels[-1][0], f"{labels[-1][1]} {line.strip()}")
        else:
            labels = []
            break
    if labels:
        return Paragraph("labels", labels=tuple(labels))
    if any(line.startswith("    ") for line in lines):
        sides = tuple(_picture("\n".join(half)) for half in halves(lines) or ())
        return Paragraph("picture", _picture(paragraph), halves=sides)
    return Paragraph("words", " ".join(line.strip() for line in lines))


def _picture(text: str) -> str:
    return re.sub("^    ", "", text, flags=re.MULTILINE)
