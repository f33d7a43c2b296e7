"""A chapter's text as markdown: its sections, its paragraphs, and its tables left as they stand."""

from __future__ import annotations

import itertools
import re
import textwrap

COLUMNS = re.compile(r"\S {2,}\S")
FORMULA = re.compile(r"^\S[^.:]*? = .*[^.:,;?]$")
CODE = re.compile(r"(`[^`\n]+`)")
# a sign that markdown, or the mathematics of a notebook, would take for its own
SPECIAL = re.compile(r"[\\*<$~]|(?<!\w)_|_(?!\w)|\](?=[(\[:])|&(?=#?\w+;)")
# as long as a line of the text can be
WIDTH = 95
AT_THE_START = re.compile(r"^(\d+(?=[.)] )|(?=#+ |[-+>] ))")


def markdown(text: str) -> str:
    """Write a docstring of titled, indented sections as markdown.

    Args:
        text: a first line, then sections: a title at the left edge, its text indented below.
    """
    lines = text.expandtabs().splitlines()
    made = [f"# {prose(lines[0].strip().rstrip('.'))}"] if lines else []
    for title, body in _sections(lines[1:]):
        if title:
            made.append(f"## {prose(title)}")
        made += _blocks(body)
    return "\n\n".join(made)


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Split at the lines that stand at the left edge above indented ones."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for place, line in enumerate(lines):
        below = lines[place + 1] if place + 1 < len(lines) else ""
        if line[:1].strip() and below.startswith(" "):
            found.append((line.strip(), []))
        else:
            found[-1][1].append(line)
    return [
        (title, textwrap.dedent("\n".join(body)).splitlines())
        for title, body in found
        if title or any(line.strip() for line in body)
    ]


def _blocks(lines: list[str]) -> list[str]:
    """Turn a section's lines into paragraphs and fenced blocks."""
    made: list[tuple[bool, list[str]]] = []
    for as_it_stands, block in _split(lines):
        if as_it_stands and made and made[-1][0]:
            made[-1][1].extend(["", *block])
        else:
            made.append((as_it_stands, list(block)))
    return [_fenced(block) if as_it_stands else _paragraph(block) for as_it_stands, block in made]


def _split(lines: list[str]) -> list[tuple[bool, list[str]]]:
    """Cut at empty lines, and where a sentence that ends in a colon has a table below it."""
    found: list[tuple[bool, list[str]]] = []
    for chunk in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        block = chunk.splitlines()
        if len(block) > 1 and block[0].endswith(":") and _stands(block[1:]):
            found += [(False, block[:1]), (True, block[1:])]
        elif block:
            found.append((_stands(block), block))
    return found


def _stands(block: list[str]) -> bool:
    """Tell what must keep its spaces and line ends: columns, drawings, formulas."""
    if any(COLUMNS.search(line) or line.startswith(" ") for line in block):
        return True
    return all(FORMULA.match(line) for line in block)


def _fenced(block: list[str]) -> str:
    return "\n".join(["```text", *(line.rstrip() for line in block), "```"])


def _paragraph(block: list[str]) -> str:
    made = [AT_THE_START.sub(r"\1\\", prose(line.strip())) for line in block]
    for place, (line, after) in enumerate(itertools.pairwise(block)):
        # a sentence that ends although a word more would have fitted ends a thought
        fitted = len(f"{line} {after.split(' ')[0]}") <= WIDTH
        if line.endswith(".") and (fitted or after.startswith("Document ")):
            made[place] += "\n"
    return "\n".join(made)


def prose(line: str) -> str:
    """Escape what would be markup in a line of prose, but not inside of code."""
    pieces = CODE.split(line)
    return "".join(
        piece if place % 2 else SPECIAL.sub(r"\\\g<0>", piece) for place, piece in enumerate(pieces)
    )
