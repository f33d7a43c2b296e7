"""Python's source split into words, in linear time and memory whatever it holds.

Python's own `tokenize` is not made for hostile text: before 3.12 its patterns can take minutes on a
line of spaces, from 3.12 on every token keeps a copy of its line, and they differ on f-strings.
What is no Python is split somehow: it cannot be imported anyway.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

STRING, NUMBER = '""', "0"
# what is repeated is one set of characters each, and what may follow it is optional or not in the
# set: there is nothing to go back for
WORD = re.compile(
    r"""(?P<space>[ \t\f\r]+)
      | (?P<nothing>\#[^\r\n]* | \\\n)
      | (?P<prefix>[bBfFrRtTuU]{0,2})(?P<quote>\"""|\'''|"|')
      | (?P<name>[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]*)
      | (?P<number>0[xX][0-9a-fA-F_]+ | 0[oObB][0-9_]+
                  | (?:[0-9][0-9_]*\.?|\.[0-9])[0-9_]*(?:[eE][+-]?[0-9][0-9_]*)?[jJ]?)
      | (?:\.\.\. | -> | [-+*/%@&|^<>=!:]=)
      | .""",
    re.VERBOSE | re.DOTALL,
)
# where the text of a string is to be looked at: all strings, f-strings, and what formats a value
TEXT, FORMATTED, FORMAT = (
    {quote: re.compile(rf"{also}|{quote}", re.DOTALL) for quote in ('"""', "'''")}
    | {quote: re.compile(rf"{also}|{quote}{line}", re.DOTALL) for quote in ('"', "'")}
    for also, line in ((r"\\.", r"|\n"), (r"\\[^{}]|{{|{", r"|\n"), (r"\\[^{}]|{|}", ""))
)
# to normalise signs that combine takes time that grows with the square of how many there are
AT_ONCE = 100


@dataclass(frozen=True)
class LogicalLine:
    """A logical line: what brackets, strings and backslashes hold together.

    Attributes:
        indented: whether it belongs to a line above.
        words: names, operators and brackets, and stand-ins for strings and numbers. What an
            f-string works out stands between braces after the string.
    """

    indented: bool
    words: list[str]


@dataclass
class _Open:
    """An f-string, or what formats a value in one (`within`), or a value in one (no pattern)."""

    quote: str
    within: re.Pattern[str] | None = None
    depth: int = 0


def lines(source: str) -> Iterator[LogicalLine]:
    """Split a source, with plain ends of lines, into its logical lines; empty ones are left out."""
    words: list[str] = []
    indented, depth = False, 0
    for word in _words(source):
        if word == "\n" and depth == 0:
            if words:
                yield LogicalLine(indented, words)
            words, indented = [], False
        elif not word.isspace():
            words.append(word)
            depth = max(0, depth + (word in "([{") - (word in ")]}"))
        elif not words:
            indented |= not word.endswith("\f")  # which sets back to the edge
    if words:
        yield LogicalLine(indented, words)


def folded(text: str) -> str:
    """Return a text, or a part of one, with its letters as Python reads them in names."""
    if text.isascii():
        return text
    parts = (text[at : at + AT_ONCE] for at in range(0, len(text), AT_ONCE))
    return "".join(unicodedata.normalize("NFKC", part) for part in parts)


def _words(source: str) -> Iterator[str]:
    """Go through the words, the spaces and the ends of lines."""
    place, opened = 0, list[_Open]()
    while place < len(source):
        inner = opened[-1] if opened else None
        if inner and inner.within:
            found = inner.within.search(source, place)
            if found is None:
                return
            place = found.end()
            yield from _in_text(found[0], opened)
            continue
        found = WORD.match(source, place)
        assert found is not None  # a single character is a word, too
        place, kind = found.end(), found.lastgroup
        if kind == "quote":
            yield STRING
            if set(found["prefix"]) & set("fFtT"):
                opened.append(_Open(found["quote"], FORMATTED[found["quote"]]))
            else:
                place = _end_of_string(source, place, found["quote"])
        elif inner and inner.depth == 0 and found[0] in (":", ":="):
            place = found.start() + 1
            opened.append(_Open(inner.quote, FORMAT[inner.quote]))
        elif kind is None:
            yield from _in_code(found[0], opened)
        elif kind == "name":
            yield folded(found[0])
        elif kind != "nothing":
            yield NUMBER if kind == "number" else found[0]


def _in_text(found: str, opened: list[_Open]) -> Iterator[str]:
    """Go on from where the text of an f-string was to be looked at."""
    if found == "{":
        yield found
        opened.append(_Open(opened[-1].quote))
    elif found == "}":
        yield found
        del opened[-2:]  # what formats the value, and the value
    elif found in (opened[-1].quote, "\n"):
        opened.pop()


def _in_code(found: str, opened: list[_Open]) -> Iterator[str]:
    """Go on from an operator, a bracket or the end of a line."""
    if not opened:
        yield found
        return
    if found != "\n":
        yield found
    if found == "}" and opened[-1].depth == 0:
        opened.pop()
    else:
        opened[-1].depth += (found in "([{") - (found in ")]}")


def _end_of_string(source: str, place: int, quote: str) -> int:
    for found in TEXT[quote].finditer(source, place):
        if found[0][0] != "\\":
            return found.end()
    return len(source)
