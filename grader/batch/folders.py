"""Reading a submission that is a folder: no link is followed, nothing but plain files is opened."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from grader.batch.member import LEFT_BEHIND, Member, Type
from grader.batch.members import like_a_chapter
from grader.batch.sources import Unusable

BELOW = "exercises"
# what the folders of systems and tools begin with
HIDES = (".", "__")
# so many files of a folder are looked at, and so many folders in it
MOST_LISTED = 2000
# folders within folders; nobody hands in deeper ones
DEEPEST = 30
# where a system has them: a link is not followed, and a pipe not waited for
CAREFULLY = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def members(folder: Path) -> list[Member]:
    """List what may count, directly in a folder and under its `exercises/`."""
    found = list(_within(folder, ""))
    below = folder / BELOW
    if below.is_symlink() and not any(like_a_chapter(one.name) for one in found):
        raise Unusable(f"{BELOW}/ is a link, and links are not followed: hand in the folder itself")
    if below.is_dir() and not below.is_symlink():
        found += _within(below, f"{BELOW}/")
    return found


def loose(files: Iterable[tuple[str, Path]]) -> list[Member]:
    """List files that lie among others' as members of one submission, by the names they mean."""
    return [_member(name, path) for name, path in files]


def at_any_depth(folder: Path) -> list[Member]:
    """List what may count: directly in a folder and under its `exercises/`, and then all files."""
    return list({one.name: one for one in (*members(folder), *everything(folder))}.values())


def everything(folder: Path) -> Iterator[Member]:
    """List the files in a folder, however deep, but for what systems leave behind."""
    for path in itertools.islice(_below(folder), MOST_LISTED):
        with contextlib.suppress(OSError):
            yield _member(path.relative_to(folder).as_posix(), path)


def _below(folder: Path) -> Iterator[Path]:
    waiting, looked_into = [(folder, 0)], 0
    while waiting and looked_into < MOST_LISTED:
        place, depth = waiting.pop()
        looked_into += 1
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            listed = sorted(entries, key=lambda one: one.name)
            inner = [one.name for one in listed if one.is_dir(follow_symlinks=False)]
            folders = set(inner)
            yield from (place / one.name for one in listed if one.name not in folders)
            kept = [name for name in inner if not name.startswith(LEFT_BEHIND)]
            if depth < DEEPEST:
                waiting += [(place / name, depth + 1) for name in reversed(kept)]


def _within(folder: Path, prefix: str) -> Iterator[Member]:
    for path in sorted(folder.iterdir()):
        yield _member(prefix + path.name, path)


def _member(name: str, path: Path) -> Member:
    state = path.lstat()
    return Member(name, _type(state.st_mode), state.st_size, _reader(path))


def _type(mode: int) -> Type:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "special file"


def _reader(path: Path) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        with open(os.open(path, os.O_RDONLY | CAREFULLY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unusable(f"{path.name} was replaced while it was read")
            return file.read(most + 1)

    return read
