"""Choosing among what a folder or an archive holds: the one place where the chapters lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from grader.batch.meant import meant
from grader.batch.names import listed, shortened
from grader.batch.sources import (
    MEBIBYTE,
    NOTEBOOK,
    SCRIPT,
    NoChapter,
    Told,
    Unusable,
    chapter_of,
    largest,
)
from grader.naming import in_words

MOST_FILES = 100
# modules that a project has beside what somebody wrote
OF_TOOLS = ("_", ".", "test_", "conftest", "setup")
# with these begins what systems and tools leave behind
LEFT_BEHIND = (".", "__MACOSX")
LARGEST_IN_ALL = 64 * MEBIBYTE
Type = Literal["file", "link", "folder", "special file"]


class Chosen(NamedTuple):
    """The files that count.

    Attributes:
        files: by their names.
        bad: of those that cannot be read, why not.
    """

    files: dict[str, bytes]
    bad: dict[str, str]


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
        return _path(self.name)

    @property
    def strays(self) -> bool:
        """Whether the name leads outside of the place where it is unpacked."""
        path = self.path
        return path.is_absolute() or ".." in path.parts or ":" in path.parts[0]

    @property
    def hidden(self) -> bool:
        """Whether it lies among what systems and tools leave behind."""
        return any(part.startswith(LEFT_BEHIND) for part in self.path.parts)


def _path(name: str) -> PurePosixPath:
    return PurePosixPath(name.replace("\\", "/"))


def _last(name: str) -> str:
    return _path(name).name


def like_a_chapter(name: str) -> bool:
    """Tell whether a member may concern us: a chapter's name, in whatever case, or near to one."""
    last = _last(name)
    return largest(last.lower()) > 0 or meant(last) is not None


def _is_module(name: str) -> bool:
    return name.endswith(SCRIPT) and not name.startswith(OF_TOOLS)


def largest_of(name: str) -> int:
    """Return how many bytes a member may have, by the chapter that it is or is meant as."""
    last = _last(name)
    said = meant(last)
    return largest(last if said is None else said.file)


def chosen(members: Iterable[Member], told: Told | None = None) -> Chosen:
    """Read the files that count, from the uppermost folder that holds any.

    Args:
        members: those that concern us.
        told: is told of files that count under another name, or do not count.

    Raises:
        NoChapter: there are none.
        Unusable: it is not clear which.
    """
    told = told or Told()
    passed_over, folders, beside = [], defaultdict(list), defaultdict(list)
    for member in members:
        if not like_a_chapter(member.name):
            if member.type != "folder" and not member.hidden:
                beside[str(member.path.parent).casefold()].append(member.path.name)
        elif member.strays:
            passed_over.append(f"{member.name} leads outside of the archive: pack it anew")
        elif member.hidden:
            passed_over.append(f"{member.name} is hidden: give it a name without a dot in front")
        else:
            folders[str(member.path.parent).casefold()].append(member)
    for folder in uppermost(folders):
        _refuse_twins(folders[folder])
        files = _named(folders[folder], told)
        if files:
            modules = [name for name in beside[folder] if _is_module(name)]
            if modules:
                told.note(f"not read: {listed(modules)}: what a chapter needs goes into it")
            told.leave(beside[folder])
            told.leave(m.name for other in folders if other != folder for m in folders[other])
            return _read(files, told)
        names = [member.name for member in folders[folder] if meant(member.path.name) is None]
        passed_over += [f"{name} is not in small letters: call it so" for name in names]
    raise NoChapter(shortened(passed_over[0], 160) if passed_over else "")


def uppermost(folders: Mapping[str, Sequence[Member]]) -> list[str]:
    """Return the folder to read; it may be below others, but not beside another.

    Raises:
        Unusable: it lies beside another.
    """
    if not folders:
        return []
    depth = {folder: len(PurePosixPath(folder).parts) for folder in folders}
    top = [folder for folder in folders if depth[folder] == min(depth.values())]
    if len(top) > 1:
        top = [folder for folder in top if PurePosixPath(folder).name == "exercises"] or top
    if len(top) > 1:
        lie_in = listed([str(folders[folder][0].path.parent) for folder in top])
        raise Unusable(f"its chapters lie in {lie_in}: hand in one of these folders by itself")
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


def _named(members: list[Member], told: Told) -> dict[str, Member]:
    """Say by which name each file counts: its own, or that of the chapter that it is meant as."""
    files: dict[str, Member] = {}
    near: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        name = member.path.name
        said = meant(name)
        if said is None and chapter_of(name):
            files[name] = member
        elif said is not None and said.sure:
            near[said.file].append(member)
        elif said is not None:
            told.note(
                f"{name} is not read: if it is chapter {said.file}, it has to be called so", [name]
            )
    for file, meant_as in near.items():
        each = [member.path.name for member in meant_as]
        names = in_words(each)
        if file in files:
            told.note(f"{names} is not read, {file} counts", each)
        elif len(meant_as) > 1:
            raise Unusable(f"{names}: it is not clear which one is {file}: leave one, called so")
        else:
            told.note(f"{names} counts as {file}")
            files[file] = meant_as[0]
    return files


def _read(members: Mapping[str, Member], told: Told) -> Chosen:
    if len(members) > MOST_FILES:
        raise Unusable(f"it holds {len(members)} ex*: more than {MOST_FILES} are not read")
    files: dict[str, bytes] = {}
    bad: dict[str, str] = {}
    for name, member in members.items():
        try:
            files[name] = data_of(member, largest(name))
        except Unusable as problem:
            bad[name] = str(problem)
            told.leave([member.path.name])
    _refuse_size("what counts of it", sum(map(len, files.values())), LARGEST_IN_ALL)
    return Chosen(files, bad)


def data_of(member: Member, most: int) -> bytes:
    """Read a member, if it is a file and no larger than that.

    Raises:
        Unusable: it is not.
    """
    _refuse(member, most)
    data = member.read(most)
    _refuse_size(member.name, max(len(data), member.size), most)
    return data


def _refuse(member: Member, most: int) -> None:
    name = shortened(member.name, 120)
    if member.type == "link":
        raise Unusable(f"{name} is a link, and links are not followed: hand in the file itself")
    if member.type != "file":
        raise Unusable(f"{name} is a {member.type} where a file was expected")
    _refuse_size(name, member.size, most)


def _refuse_size(name: str, size: int, most: int) -> None:
    if size > most:
        hint = ": take out what is not code" if name.endswith(SCRIPT) else ""
        hint = ": clear its outputs, and save it again" if name.endswith(NOTEBOOK) else hint
        raise Unusable(f"{shortened(name, 120)} is larger than {most // MEBIBYTE} MiB{hint}")
