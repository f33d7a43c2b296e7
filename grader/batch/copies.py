"""A chapter that a submission holds several times: a stub as it was handed out is nobody's work."""

from __future__ import annotations

import functools
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
    data, stub = _text(name, member), _text_of(places.EXERCISES / name)
    if data is None or stub is None or len(data) > len(stub) + MOST_ADDED:
        return data == b""
    added = Counter(_lines(data)) - Counter(_lines(stub))
    return _left(data) in (0, _left(stub)) and all(line.startswith(NO_WORK) for line in added)


def over_stubs(
    files: Mapping[str, Member], others: Iterable[Named], told: Told
) -> dict[str, Member]:
    """Take from other folders what lies here as it was handed out.

    Args:
        files: what lies where chapters are looked for, by the names by which they count.
        others: what lies elsewhere, with the names by which it would.
        told: is told what counts instead, and of what it is not clear which one does.
    """
    stubs = {_stem(name): name for name, member in files.items() if is_untouched(name, member)}
    here = {_stem(name) for name in files}
    worked_on: dict[str, list[Member]] = defaultdict(list)
    for name, member in others:
        is_settled = _stem(name) in here and _stem(name) not in stubs
        if not is_settled and not _is_handed_out(name, member):
            worked_on[name].append(member)
    counted = dict(files)
    for name, each in worked_on.items():
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


def are_apart(folders: Mapping[str, Iterable[Named]]) -> bool:
    """Tell whether no chapter was worked on in two of these folders."""
    where: dict[str, set[str]] = defaultdict(set)
    for folder, held in folders.items():
        for name, member in held:
            if not _is_handed_out(name, member):
                where[_stem(name)].add(folder)
    return bool(where) and all(len(each) == 1 for each in where.values())


def further_along(files: Mapping[str, Member], others: Iterable[Named]) -> Iterator[Named]:
    """Find what lies elsewhere with fewer functions left to do than in what counts."""
    left: dict[str, int] = {}
    for name, member in others:
        if name in files and not _is_handed_out(name, member):
            if name not in left:
                left[name] = _left(_text(name, files[name]) or b"")
            there = _text(name, member)
            if there is not None and _left(there) < left[name]:
                yield name, member


def _left(data: bytes) -> int:
    """Count the functions that are still to be written, in a notebook by its cells."""
    return sum(1 for _ in STILL_TO_DO.finditer(data))


def _lines(data: bytes) -> list[bytes]:
    return [line for line in map(bytes.strip, data.split(b"\n")) if line]


def _stem(name: str) -> str:
    return (chapter_of(name) or (name,))[0]


def _is_handed_out(name: str, member: Member) -> bool:
    """Tell whether a file is the kit's own: the stub, or what the kit has as a solution."""
    data = _text(name, member)
    return data is None or data == _text_of(places.SOLUTIONS / name) or is_untouched(name, member)


def _text(name: str, member: Member) -> bytes | None:
    """Read a file as it is compared; None if it cannot be read, which is said where it counts."""
    most = largest(name)
    if member.type != "file" or member.size > most:
        return None
    try:
        return _comparable(member.read(most))
    except Exception:
        return None


@functools.cache
def _text_of(path: Path) -> bytes | None:
    return _comparable(path.read_bytes()) if path.is_file() else None


def _comparable(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").strip()
