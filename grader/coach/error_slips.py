"""Slips that are told by the error that they raise, and how one is declared."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorSlip:
    """A slip told by the error that it raises.

    Attributes:
        name: as the report names it.
        pattern: fits the type and the text of the error.
        says: the sentence.
        line: fits the line that failed, if that matters.
        beside: fits no line of this slip.
        read: where to read on, if a card helps.
    """

    name: str
    pattern: re.Pattern[str]
    says: str
    line: re.Pattern[str] | None = None
    beside: re.Pattern[str] | None = None
    read: str = ""

    def fits(self, said: str, line: str) -> bool:
        """Tell whether an error, and the line that failed, show this slip."""
        if not self.pattern.search(said):
            return False
        if self.line is not None and not self.line.search(line):
            return False
        return self.beside is None or not self.beside.search(line)


def error_like(
    name: str,
    pattern: str,
    says: str,
    line: str | None = None,
    beside: str | None = None,
    read: str = "",
) -> ErrorSlip:
    """Declare a slip by the error that it raises; the patterns are regular expressions."""
    return ErrorSlip(
        name,
        re.compile(pattern, re.IGNORECASE),
        says,
        None if line is None else re.compile(line),
        None if beside is None else re.compile(beside),
        read,
    )
