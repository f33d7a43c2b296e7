"""Lines that only a notebook understands, taken out of a cell: `%time`, `!ls`, `softmax?`."""

from __future__ import annotations

import re

# what runs the rest of the cell as Python, in the notebook itself
PYTHON = ("time", "timeit", "capture", "prun")
CELL = re.compile(r"\s*%%(\w*)[^\n]*\n?")
LINE = re.compile(
    r"""(?P<indent>[ \t]*)(?:
        [%!][^\n]*                                  # %time f(x), !ls
      | \?[^\n]*                                    # ?softmax
      | [\w.*]+\?{1,2}[ \t]*(?=\n|\Z)               # softmax?
      | [\w.,][\w., \t]*=[ \t]*[%!](?!=)[^\n]*    # names = !ls
    )""",
    re.VERBOSE,
)
# what a statement can hold that makes the next line belong to it
TOKEN = re.compile(
    r'''(?P<text>[rbfuRBFU]{0,2}(?:
        """(?:[^"\\]|\\.|"(?!""))*"""
      | \'\'\'(?:[^'\\]|\\.|'(?!''))*\'\'\'
      | "(?:[^"\\\n]|\\.)*"
      | '(?:[^'\\\n]|\\.)*'
    ))
      | \#[^\n]*
      | (?P<joined>\\\n)
      | (?P<open>[(\[{])
      | (?P<close>[)\]}])
      | (?P<end>\n)
      | \w+ | .''',
    re.VERBOSE | re.DOTALL,
)


def without_magics(cell: str) -> str:
    """Return a cell as Python: a line for a line, `pass` where a magic or a shell command stood.

    A cell for another language, such as `%%bash` or `%%html`, has nothing left.
    """
    place = 0
    while first := CELL.match(cell, place):
        if first[1] not in PYTHON:
            return ""
        place = first.end()
    return "\n" * cell.count("\n", 0, place) + _lines(cell[place:])


def _lines(cell: str) -> str:
    made, place = [], 0
    while place < len(cell):
        magic = LINE.match(cell, place)
        if magic:
            made.append(f"{magic['indent']}pass")
            place = _after(cell, magic.end(), made)
        else:
            end = _end_of_statement(cell, place)
            made.append(cell[place:end])
            place = end
    return "".join(made)


def _after(cell: str, place: int, made: list[str]) -> int:
    """Go past the end of a magic's line, and past those that its backslashes join to it."""
    while place < len(cell):
        made.append("\n")
        joined = cell[place - 1] == "\\"
        place += 1
        if not joined:
            break
        end = cell.find("\n", place)
        place = len(cell) if end < 0 else end
    return place


def _end_of_statement(cell: str, place: int) -> int:
    """Return where the line ends that ends the statement."""
    depth = 0
    for token in TOKEN.finditer(cell, place):
        depth += bool(token["open"]) - bool(token["close"])
        if token["end"] and depth <= 0:
            return token.end()
    return len(cell)
