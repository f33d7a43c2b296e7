"""Folding code to a width: between its words, never inside of a string, and it stays Python."""

from __future__ import annotations

import io
import textwrap
import tokenize
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

OPENS, CLOSES = ("(", "[", "{"), (")", "]", "}")
AFTER = " " * 4


def folded(text: str, width: int) -> list[str]:
    """Fold the lines that are too long; a comment behind one of them goes above it.

    Args:
        text: Python.
        width: how long a line may be; one with no place to fold is longer.
    """
    lines = text.splitlines()
    if all(len(line) <= width for line in lines):
        return lines
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return lines
    comments = {one.start[0]: one.start[1] for one in tokens if one.type == tokenize.COMMENT}
    places, made = _places(tokens), list[str]()
    for number, line in enumerate(lines, 1):
        if len(line) <= width:
            made.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        at = comments.get(number, len(line))
        if at < len(line):
            sign = f"{indent}# "
            said = textwrap.wrap(
                line[at:].lstrip("# "), width, initial_indent=sign, subsequent_indent=sign
            )
            made += said
        if line[:at].strip():
            made += _pieces(line[:at].rstrip(), indent + AFTER, places[number], width)
    return made


class Fold(NamedTuple):
    """Where a line may be folded: not after a comma, in how many brackets, and at which column."""

    torn: bool
    depth: int
    column: int


def _places(tokens: list[tokenize.TokenInfo]) -> dict[int, list[Fold]]:
    """List for each line where it may be folded: inside of brackets, before a word."""
    found = defaultdict[int, list[Fold]](list)
    depth = string = 0
    for before, one in pairwise(tokens):
        kind = tokenize.tok_name[one.type]
        # from Python 3.12 on, the tokens inside of an f-string are its parts
        string -= tokenize.tok_name[before.type] == "FSTRING_END"
        apart = before.end[0] == one.start[0] and before.end[1] < one.start[1]
        opened = depth > 0 and before.string in OPENS
        if depth and not string and (apart or opened) and one.string not in CLOSES:
            found[one.start[0]].append(Fold(before.string != ",", depth, one.start[1]))
        string += kind == "FSTRING_START"
        if kind == "OP" and not string:
            depth += (one.string in OPENS) - (one.string in CLOSES)
    return found


def _pieces(line: str, after: str, places: list[Fold], width: int) -> list[str]:
    """Cut a line at the best place that fits, and again what is left of it."""
    made, begin, room, lead = [], 0, width, ""
    while len(line) - begin > room:
        left = [place for place in places if line[begin : place.column].strip()]
        near = [place for place in left if place.column <= begin + room]
        best = min(near, key=lambda one: (one.torn, one.depth, -one.column), default=None)
        cut = best.column if best else min((one.column for one in left), default=0)
        if not cut:
            break
        made.append(lead + line[begin:cut].rstrip())
        begin, lead = cut, after
        room = width - len(after)
    return [*made, lead + line[begin:]]
