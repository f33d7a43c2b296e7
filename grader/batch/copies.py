"""A chapter that a submission holds several times: a stub as it was handed out is nobody's work."""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader import places
from grader.batch.member import Member
from grader.batch.names import listed
from grader.batch.sources import Told, chapter_of, largest

Named = tuple[str, Member]
# at the beginning of a line, which a notebook holds in quotes, and in one string where it likes
STILL_TO_DO = re.compile(rb"(?:^|\"|\\n)[ \t]*raise NotImplementedError", re.MULTILINE)
# bytes; to compare a file of the largest size takes long
MOST_ADDED = 2**14
NO_WORK = (b"#", b"import ", b"from ")


def is_untouched(name: str, member: Member) -> bool:
    """Tell whether a file is the kit's own stub: nothing but remarks and imports may be added.

    Args:
        name: of the chapter that it counts as.
        member: the file.
    """
    data = _text(name, member)
    return data is not None and _is_stub(name, data)


def are_untouched(members: Iterable[Member]) -> bool:
    """Tell whether these files, called as their chapters are, are nobody's work."""
    return all(is_untouched(one.path.name, one) for one in members)


def worked_on(named: Iterable[Named]) -> Iterator[Named]:
    """Leave out what is the kit's own: stubs, what the kit has as a solution, what no one reads."""
    for name, member in named:
        data = _text(name, member)
        if data is None or data == _text_of(places.SOLUTIONS / name) or _is_stub(name, data):
            continue
        yield name, member


def without_repeats(folders: Iterable[Iterable[Named]]) -> Iterator[list[Named]]:
    """Leave out of each folder what an earlier one holds with the same text: it is in no doubt."""
    before: dict[str, set[bytes]] = defaultdict(set)
    for held in folders:
        marks = [(name, one, _mark(_text(name, one))) for name, one in held]
        yield [(name, one) for name, one, mark in marks if mark not in before[name]]
        for name, _, mark in marks:
            if mark is not None:
                before[name].add(mark)


def over_stubs(
    files: Mapping[str, Member], others: Iterable[Named], told: Told
) -> dict[str, Member]:
    """Take from other folders what lies here as it was handed out.

    Args:
        files: what lies where chapters are looked for, by the names by which they count.
        others: what was worked on elsewhere, with the names by which it would.
        told: is told what counts instead, and of what it is not clear which one does.
    """
    stubs = {_stem(name): name for name, member in files.items() if is_untouched(name, member)}
    settled = {_stem(name) for name in files} - set(stubs)
    instead: dict[str, list[Member]] = defaultdict(list)
    for name, member in others:
        if _stem(name) not in settled:
            instead[name].append(member)
    counted = dict(files)
    for name, each in instead.items():
        paths, stub = listed([str(member.path) for member in each]), stubs.get(_stem(name))
        if stub is None:
            told.note(f"not read: {paths}: put it beside the other chapters")
        elif len(each) > 1:
            told.note(f"not read: {paths}: it is not clear which one is {name}: leave one")
        else:
            told.note(f"{paths} counts: {files[stub].path} is as it was handed out")
            told.leave([files[stub].name])
            counted[name] = each[0]
    return counted


def are_apart(folders: Iterable[Iterable[Named]]) -> bool:
    """Tell whether something was worked on, and no chapter in two of these folders."""
    chapters = [{_stem(name) for name, _ in held} for held in folders]
    every = set().union(*chapters)
    return bool(every) and sum(map(len, chapters)) == len(every)


def further_along(files: Mapping[str, Member], others: Iterable[Named]) -> Iterator[Named]:
    """Find what was worked on elsewhere and has fewer functions left to do than what counts."""
    left: dict[str, int] = {}
    for name, member in others:
        if name in files:
            if name not in left:
                left[name] = _left(_text(name, files[name]) or b"")
            if _left(_text(name, member) or b"") < left[name]:
                yield name, member


def _is_stub(name: str, data: bytes) -> bool:
    stub = _text_of(places.EXERCISES / name)
    if stub is None or len(data) > len(stub) + MOST_ADDED:
        return not data
    added = Counter(_lines(data)) - Counter(_lines(stub))
    return _left(data) in (0, _left(stub)) and all(line.startswith(NO_WORK) for line in added)


def _left(data: bytes) -> int:
    """Count the functions that are still to be written, in a notebook by its cells."""
    return sum(1 for _ in STILL_TO_DO.finditer(data))


def _lines(data: bytes) -> list[bytes]:
    return [line for line in map(bytes.strip, data.split(b"\n")) if line]


def _stem(name: str) -> str:
    return (chapter_of(name) or (name,))[0]


def _text(name: str, member: Member) -> bytes | None:
    """Read a file as it is compared; None if it cannot be read, which is said where it counts."""
    most = largest(name)
    if member.type != "file" or member.size > most:
        return None
    try:
        return _comparable(member.read(most))
    except Exception:
        return None


def _mark(data: bytes | None) -> bytes | None:
    return None if data is None else hashlib.sha256(data).digest()


@functools.cache
def _text_of(path: Path) -> bytes | None:
    return _comparable(path.read_bytes()) if path.is_file() else None


def _comparable(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").strip()
