"""Text that came from a submission, made safe for where it goes; nothing of it is hidden."""

from __future__ import annotations

import re
import sys
from typing import Any

MOST = 20_000
UNUSUAL = re.compile(r"[^\n\t\x20-\x7e]")
JOINERS = "\u200c\u200d"  # names in Persian or Hindi need them
SIGNS = "=+-@＝＋－＠"
FORMULA = tuple(f"{SIGNS}\t\r\n")
# many a spreadsheet goes by its country, and cuts a line there, whatever it is quoted with
AFTER_SEPARATOR = re.compile(rf"([;|]\s*)(?=[{re.escape(SIGNS)}])")


def shown(text: str, most: int = MOST) -> str:
    """Write what cannot be seen as escapes: control characters, bidi overrides, surrogates.

    Args:
        text: from a submission.
        most: characters to keep; the rest is counted.

    Returns:
        Printable characters, tabs and line feeds.
    """
    left = len(text) - most
    text = text[:most].replace("\r\n", "\n")
    safe = UNUSUAL.sub(_visible, text)
    return safe if left <= 0 else f"{safe}\n... and {left} more characters"


def one_line(text: str, most: int = 300) -> str:
    """Write text as `shown` does, on one line of at most `most` characters."""
    line = shown(" ".join(text[: 4 * most].split()), 4 * most)
    return line if len(line) <= most else line[: most - 3] + "..."


def for_log(text: str) -> str:
    """Break what a CI system would take for a command: `::error`, `##[group]`, `##vso[`."""
    text = re.sub(r"^(\s*):(?=:)", r"\1: ", text, flags=re.MULTILINE)
    return re.sub(r"##(?=\w*\[)", "# #", text)


def tell(*sentences: str) -> None:
    """Say sentences to whoever grades, each on a line of its own."""
    for sentence in sentences:
        print(f"grader: {for_log(sentence)}", file=sys.stderr)


def cell(text: str) -> str:
    """Write text for a cell of a CSV file: one line, and never a formula to a spreadsheet."""
    line = AFTER_SEPARATOR.sub(r"\1'", one_line(text, 1000))
    return f"'{line}" if line.lstrip().startswith(FORMULA) or text.startswith(FORMULA) else line


def encodable(text: str, most: int = MOST) -> str:
    """Keep text as it is, but for its length and for what no file can hold."""
    cut = (
        text if len(text) <= most else f"{text[:most]}\n... and {len(text) - most} more characters"
    )
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")


def all_encodable(value: Any) -> Any:
    """Keep every text in plain data as it is, but for its length and for what no file can hold."""
    if isinstance(value, dict):
        return {all_encodable(key): all_encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [all_encodable(item) for item in value]
    return encodable(value) if isinstance(value, str) else value


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable() or character in JOINERS:
        return character
    return character.encode("unicode_escape").decode("ascii")
