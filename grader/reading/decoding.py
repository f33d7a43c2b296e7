"""The text of a Python file, decoded as Python does it, but never by a codec that can be slow."""

from __future__ import annotations

import codecs
import re
import warnings

# the codec that a file names, in its first line or below a line that says nothing
CODING = re.compile(rb"[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")
SAYS_NOTHING = re.compile(rb"[ \t\f]*(?:#[^\n]*)?\n")
# as Python's parser takes them, whatever is appended to them
ALWAYS = {"utf-8": "utf-8", "latin-1": "latin-1", "iso-8859-1": "latin-1", "iso-latin-1": "latin-1"}
# written in Python: they take time that grows with the square of the text
SLOW = {"punycode", "idna"}
LONGEST = 100


class UnknownCodec(Exception):
    """A file is written in a way that is not read here; says which."""


def decoded(source: bytes) -> str:
    """Return the text of a Python file, with plain ends of lines.

    Raises:
        UnicodeError: it is not written in the way that it says.
        UnknownCodec: that way is a slow one, or none that Python comes with.
    """
    text = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if text.startswith(codecs.BOM_UTF8):
        return text[len(codecs.BOM_UTF8) :].decode()
    named = _named(text)
    short = named[:12].lower().replace("_", "-") + "-"
    for always, codec in ALWAYS.items():
        if short.startswith(f"{always}-"):
            return text.decode(codec)
    try:
        if len(named) > LONGEST or codecs.lookup(named).name in SLOW:
            raise UnknownCodec(named[:LONGEST])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that there are not
            return text.decode(named)
    except LookupError:
        raise UnknownCodec(named) from None


def _named(text: bytes) -> str:
    below = SAYS_NOTHING.match(text)
    said = CODING.match(text) or (CODING.match(text, below.end()) if below else None)
    return said[1].decode() if said else "utf-8"
