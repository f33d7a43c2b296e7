"""Which chapter a file is meant as, and whose it is, by a name that platforms and people gave it.

obrienvera_LATE_12960_600620_ex01_scores-1.py   Canvas: login, number of the student, of the upload
Vera O'Brien_12960_assignsubmission_file_ex01_scores.py   Moodle: name, number of the hand-in
ex01_scores_jane_doe.py   Jane Doe - ex01-scores.py   ex01 (1).py   ex01_scores.py.txt
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grader import places
from grader.batch.sources import LARGEST
from grader.whose import CANVAS, MOODLE, UPLOADED, by_a_platform

# what is added to a name without saying whose it is; a longer number is a student's
NO_NAME = re.compile(
    r"v?\d{1,2}|\(\d+\)|final|latest|new|old|copy|kopie|of|my|draft|late|fixed|done|solution|solutions"
    r"|solved|submission|homework|hw|assignment|chapter|ex",
    re.IGNORECASE,
)
# how systems call a copy, in words that may be part of a name elsewhere
COPY_OF = re.compile(r"\b(copy of|kopie von|copie de|copia de)\b", re.IGNORECASE)
# what stands beside a chapter, and is none
BESIDE = re.compile(r"helpers?|utils?|notes?|tests?|scratch|plots?|backup|bak", re.IGNORECASE)
# what Canvas adds to the name of a file that was handed in again
LATER = re.compile(r"-(\d{1,4})")
BETWEEN = re.compile(r"[\s_\-.,]+")


@dataclass(frozen=True)
class Meant:
    """What a file's name says.

    Attributes:
        file: the chapter's own file name.
        whose: who handed it in, as far as the name says so.
        sure: whether it can mean nothing else in somebody's own folder.
        nth: its place among versions, where a platform numbers them: its mark of a later one, and
            the number of the upload.
    """

    file: str
    whose: str
    sure: bool
    nth: tuple[int, int] | None = None


@functools.cache
def known_stems() -> tuple[str, ...]:
    """List the chapters of this kit, without importing them."""
    return tuple(sorted(path.stem for path in (places.ROOT / "grader" / "coach").glob("ex*.py")))


@functools.lru_cache(maxsize=4096)
def meant(name: str) -> Meant | None:
    """Say which chapter a file is meant as; None if it is called so, or like none or several.

    Args:
        name: of the file, without folders.
    """
    path = PurePosixPath(name)
    if path.suffix.lower() == ".txt" and PurePosixPath(path.stem).suffix.lower() in LARGEST:
        path = PurePosixPath(path.stem)
    suffix = path.suffix.lower()
    if suffix not in LARGEST or (path.stem in known_stems() and path.stem + suffix == name):
        return None
    found = _found(unicodedata.normalize("NFC", path.stem))
    if found is None:
        return None
    stem, before, after, whole = found
    said = (after,) if _by_platform(before) else (before, after)  # people are called Note, too
    if any(BESIDE.fullmatch(word) for side in said for word in BETWEEN.split(side)):
        return None
    whose = _whose(before, after)
    return Meant(stem + suffix, whose, whole or not whose, _nth(before, after))


def _found(text: str) -> tuple[str, str, str, bool] | None:
    """Find the one chapter that a text names: its stem, what is around, if it is there in whole."""
    for shorten in (_however_joined, _number):
        hits = [
            (stem, hit)
            for stem in known_stems()
            if (hit := re.search(rf"(?<![a-z0-9]){shorten(stem)}(?![a-z0-9])", text, re.IGNORECASE))
        ]
        if len(hits) == 1:
            stem, hit = hits[0]
            return stem, text[: hit.start()], text[hit.end() :], shorten is _however_joined
        if hits:
            return None
    return None


def _however_joined(stem: str) -> str:
    return stem.replace("_", BETWEEN.pattern)


def _number(stem: str) -> str:
    return stem.split("_", maxsplit=1)[0]


def _whose(before: str, after: str) -> str:
    """Read off who it is: of both sides of the chapter one may say it."""
    student = _by_platform(before)
    if student:
        return student
    sides = [_name(side) for side in (before, after)]
    return "" if all(sides) else "".join(sides)


def _by_platform(text: str) -> str:
    """Return who it is, by Moodle's or Canvas's way to begin a file's name; nothing if by none."""
    found = by_a_platform(unicodedata.normalize("NFC", text))
    if found is None:
        return ""
    # what Moodle's folders are called, so that a worksheet knows both
    ending = UPLOADED if found.re is MOODLE else ""
    return f"{found['name']}_{found['number']}{ending}"


def _nth(before: str, after: str) -> tuple[int, int] | None:
    canvas = CANVAS.fullmatch(before)
    mark = LATER.fullmatch(after)
    return (int(mark[1]) if mark else 0, int(canvas["upload"])) if canvas else None


def _name(text: str) -> str:
    words = BETWEEN.split(COPY_OF.sub(" ", text))
    return "_".join(word for word in words if word and not NO_NAME.fullmatch(word)).strip("()[]")


def by_student(files: Iterable[Path], enough: int) -> dict[str, list[tuple[Meant, Path]]]:
    """Group loose files by who handed them in, with what their names say.

    There is nobody where it is not beyond doubt that these are several people.

    Args:
        files: called in whatever way.
        enough: so many have to have handed in the same chapter; of those whom a platform has
            named, one fewer have to be there.
    """
    found: dict[str, list[tuple[Meant, Path]]] = {}
    spelled: dict[str, str] = {}
    for path in files:
        said = meant(path.name)
        if said is not None and said.whose:
            whose = spelled.setdefault(said.whose.casefold(), said.whose)
            found.setdefault(whose, []).append((said, path))
    chapters = [{PurePosixPath(said.file).stem for said, _ in each} for each in found.values()]
    most = max(Counter(itertools.chain(*chapters)).values(), default=0)
    platform = {_by_platform(path.name) for handed in found.values() for _, path in handed} - {""}
    return found if most >= enough or len(platform) >= enough - 1 else {}


def of_platform(files: Iterable[Path], beside: Iterable[Path]) -> dict[str, list[Path]]:
    """Group loose files that are called like no chapter by whom a platform names in front.

    Args:
        files: called in whatever way.
        beside: what certainly is work; if no platform has named any of it, none has named these.
    """
    found: dict[str, list[Path]] = {}
    if not any(_by_platform(path.name) for path in beside):
        return found
    for path in sorted(files):
        student = _by_platform(path.name)
        if student:
            found.setdefault(student, []).append(path)
    return found
