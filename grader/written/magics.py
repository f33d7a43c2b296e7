"""Lines that only a notebook understands, taken out of a cell: `%time`, `!ls`, `softmax?`."""

from __future__ import annotations

import re

from grader.written.started import parsed

# what runs the rest of the cell as Python, in the notebook itself
PYTHON = ("time", "timeit", "capture", "prun")
CELL = re.compile(r"\s*%%(\w*)[^\n]*\n?")
LINE = re.compile(
    r"""^(?P<indent>[ \t]*)(?:
        %+\w | !(?!=) | \?                          # %time f(x), !ls, ?softmax; not `% x`
      | [\w.*]+\?{1,2}[ \t]*$                       # softmax?
      | [\w.,][\w., \t]*=[ \t]*[%!](?!=)            # names = !ls
    )(?:[^\n]|(?<=\\)\n)*                           # with what backslashes join to it""",
    re.VERBOSE | re.MULTILINE,
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
    rest = cell[place:]
    try:
        parsed(rest)  # so that what looks like a magic within a string stays, where there are none
    except SyntaxError:
        rest = LINE.sub(_passed, rest)
    return "\n" * cell.count("\n", 0, place) + rest


def _passed(magic: re.Match[str]) -> str:
    return f"{magic['indent']}pass" + "\n" * magic[0].count("\n")
