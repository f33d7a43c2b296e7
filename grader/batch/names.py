"""Names of submissions: printable, each its own, the same whatever order the paths come in."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

NAMED = 3
SURROGATE_OF_BYTE_0 = 0xDC00


def printable(text: str) -> str:
    """Spell out what a terminal, a report or a database could trip over."""
    return "".join(_shown(c) for c in unicodedata.normalize("NFC", text))


def shortened(text: str, longest: int = 300) -> str:
    """Put a printable text on one line of bounded length."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 3] + "..."


def listed(names: Sequence[str]) -> str:
    """Name a few of many, each on a line of its own length."""
    said = ", ".join(shortened(name, 60) for name in names[:NAMED])
    return said + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def own_names(paths: Sequence[Path], stem: Callable[[Path], str]) -> list[str]:
    """Name every path by its stem, and by more of itself where stems are shared.

    Args:
        paths: absolute, no two the same.
        stem: what a path is called if it is the only one called so.
    """
    names = {path: printable(stem(path)) for path in paths}
    whole = {path: printable(str(path)) for path in paths}
    times = Counter(whole.values())
    for more in range(max((len(path.parts) for path in paths), default=0)):
        for path in _sharing(names):
            if times[whole[path]] == 1:
                names[path] = printable("/".join(path.parts[-1 - more :]))
    _number(names, stem)
    return [names[path] for path in paths]


def _number(names: dict[Path, str], stem: Callable[[Path], str]) -> None:
    """Number names that still are the same: they differ in what cannot be shown.

    Who is called so in truth stays so, and nobody gets a number that is somebody's name.
    """
    taken, left = set(names.values()), Counter(names.values())
    for path in sorted(_sharing(names), key=lambda path: (stem(path) == names[path], path)):
        name = names[path]
        left[name] -= 1
        if left[name]:  # the last of them keeps it
            numbered = (f"{name} ({number})" for number in itertools.count(1))
            names[path] = next(one for one in numbered if one not in taken)
            taken.add(names[path])


def _sharing(names: dict[Path, str]) -> list[Path]:
    count = Counter(names.values())
    return [path for path, name in names.items() if count[name] > 1]


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":
        return " "
    byte = ord(character) - SURROGATE_OF_BYTE_0
    if 0x80 <= byte <= 0xFF:  # how Python reads a byte of a file name that is not UTF-8
        return f"\\x{byte:02x}"
    return character.encode("unicode_escape").decode()
