"""A message taken apart again, so that a page can set its words and its pictures differently."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

LABEL = re.compile(r"  (?P<title>\S.{11}) (?P<text>\S.*)")
CONTINUED = " " * 15


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a message.

    Attributes:
        kind: words that may be wrapped anew; a picture or code, kept as it is; or labels.
        text: of words and pictures.
        labels: titles with their text: `Likely slip`, `Called as`, `The check`.
    """

    kind: Literal["words", "picture", "labels"]
    text: str = ""
    labels: tuple[tuple[str, str], ...] = ()


def blocks(message: str) -> list[Paragraph]:
    """Split a message into paragraphs; pictures that follow each other are one."""
    found: list[Paragraph] = []
    for paragraph in re.split(r"\n{2,}", message.strip("\n")):
        block = _block(paragraph)
        if block.kind == "picture" and found and found[-1].kind == "picture":
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
        return Paragraph("picture", re.sub("^    ", "", paragraph, flags=re.MULTILINE))
    return Paragraph("words", " ".join(line.strip() for line in lines))
