"""Choosing among what a folder or an archive holds: the one place where the chapters lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from grader.batch.names import shortened
from grader.batch.sources import MEBIBYTE, NOTEBOOK, Unusable, chapter_of, largest

MOST_FILES = 100
LARGEST_IN_ALL = 64 * MEBIBYTE
Type = Literal["file", "link", "folder", "special file"]


@dataclass(frozen=True)
class Member:
    """One entry of a folder or an archive.

    Attributes:
        name: with the folders above it, as the folder or the archive spells it.
        type: only a file is ever read.
        size: as it is declared.
        read: returns its bytes; at most one more than the limit that it is given.
    """

    name: str
    type: Type
    size: int
    read: Callable[[int], bytes]

    @property
    def path(self) -> PurePosixPath:
        """The name as a path; a backslash separates, as in archives that Windows made."""
        return PurePosixPath(self.name.replace("\\", "/"))

    @property
    def strays(self) -> bool:
        """Whether the name leads outside of the place where it is unpacked."""
        path = self.path
        return path.is_absolute() or ".." in path.parts or ":" in path.parts[0]

    @property
    def hidden(self) -> bool:
        """Whether it lies among what systems and tools leave behind."""
        return any(part.startswith((".", "__MACOSX")) for part in self.path.parts)


def like_a_chapter(name: str) -> bool:
    """Tell whether a member may concern us: a chapter's name, in whatever case."""
    return largest(PurePosixPath(name.replace("\\", "/").rstrip("/")).name.lower()) > 0


def chosen(members: Iterable[Member]) -> dict[str, bytes]:
    """Read the files that count, from the uppermost folder that holds any.

    Args:
        members: those that are `like_a_chapter`.

    Raises:
        Unusable: there are none, or it is not clear which, or one cannot be read.
    """
    passed_over, folders = [], defaultdict(list)
    for member in members:
        if member.strays:
            passed_over.append(f"{member.name} leads outside of the archive")
        elif member.hidden:
            passed_over.append(f"{member.name} is hidden")
        else:
            folders[str(member.path.parent).casefold()].append(member)
    for folder in _uppermost(folders):
        _refuse_twins(folders[folder])
        files = [member for member in folders[folder] if chapter_of(member.path.name)]
        if files:
            return _read(files)
        passed_over += [f"{member.name} is not in small letters" for member in folders[folder]]
    why = f" ({shortened(passed_over[0], 120)})" if passed_over else ""
    raise Unusable(f"it holds no ex*.py or ex*.ipynb, neither directly nor under exercises/{why}")


def _uppermost(folders: Iterable[str]) -> list[str]:
    """Return the folder to read; it may be below others, but not beside another."""
    if not folders:
        return []
    depth = {folder: len(PurePosixPath(folder).parts) for folder in folders}
    top = [folder for folder in folders if depth[folder] == min(depth.values())]
    if len(top) > 1:
        top = [folder for folder in top if PurePosixPath(folder).name == "exercises"] or top
    if len(top) > 1:
        raise Unusable("several of its folders hold ex*.py: hand in one of them")
    return top


def _refuse_twins(members: list[Member]) -> None:
    seen: dict[str, Member] = {}
    for member in members:
        name = member.path.name.casefold()
        if name in seen:
            twins = f"{seen[name].name} and {member.name}"
            again = f"{member.name} twice" if seen[name].path == member.path else twins
            raise Unusable(f"it holds {shortened(again)}: it is not clear which one counts")
        seen[name] = member


def _read(members: list[Member]) -> dict[str, bytes]:
    if len(members) > MOST_FILES:
        raise Unusable(f"it holds {len(members)} ex*: more than {MOST_FILES} are not read")
    for member in members:
        _refuse(member)
    files: dict[str, bytes] = {}
    for member in members:
        most = largest(member.path.name)
        data = member.read(most)
        _refuse_size(member.name, max(len(data), member.size), most)
        files[member.path.name] = data
    _refuse_size("what counts of it", sum(map(len, files.values())), LARGEST_IN_ALL)
    return files


def _refuse(member: Member) -> None:
    name = shortened(member.name, 120)
    if member.type == "link":
        raise Unusable(f"{name} is a link, and links are not followed: hand in the file itself")
    if member.type != "file":
        raise Unusable(f"{name} is a {member.type} where a file was expected")
    _refuse_size(name, member.size, largest(member.path.name))


def _refuse_size(name: str, size: int, most: int) -> None:
    if size > most:
        hint = ": clear its outputs, and save it again" if name.endswith(NOTEBOOK) else ""
        raise Unusable(f"{shortened(name, 120)} is larger than {most // MEBIBYTE} MiB{hint}")
