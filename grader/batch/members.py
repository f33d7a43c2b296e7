"""Choosing among what a folder or an archive holds: the one place where the chapters lie."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from grader import places
from grader.batch.copies import (
    Named,
    are_apart,
    further_along,
    is_untouched,
    over_stubs,
    without_repeats,
    worked_on,
)
from grader.batch.meant import meant
from grader.batch.member import Member, path_of
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
from grader.batch.uploads import ARCHIVES, OTHER_ARCHIVES
from grader.naming import in_words

MOST_FILES = 100
# modules that a project has beside what somebody wrote
OF_TOOLS = ("_", ".", "test_", "conftest", "setup")
# where files of the kit itself are called like chapters, in whatever pack it comes
ENGINE = "grader"
MADE_BY_OTHERS = {ENGINE, "__pycache__"}
# so many files of a folder that are not used are named
FEW = 10
LARGEST_IN_ALL = 64 * MEBIBYTE


class Chosen(NamedTuple):
    """The files that count.

    Attributes:
        files: by their names.
        bad: of those that cannot be read, why not.
    """

    files: dict[str, bytes]
    bad: dict[str, str]


def _last(name: str) -> str:
    return path_of(name).name


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
    """Read the files that count.

    Args:
        members: those that concern us.
        told: is told of files that count under another name, or do not count.

    Raises:
        NoChapter: there are none.
        Unusable: it is not clear which.
    """
    told = told or Told()
    return _read(counting(members, told), told)


def counting(members: Iterable[Member], told: Told) -> dict[str, Member]:
    """Choose the files that count: the uppermost, but of a chapter that was worked on that one.

    Args:
        members: those that concern us.
        told: is told of files that count under another name, or do not count.

    Returns:
        The files, by the names by which they count.

    Raises:
        NoChapter: there are none.
        Unusable: it is not clear which.
    """
    folders, beside, archives, passed_over = _sorted(members)
    top = _uppermost(folders)
    files = _together([folders[folder] for folder in top], told)
    if not files:
        near = (member for folder in top for member in folders[folder])
        names = [member.name for member in near if meant(member.path.name) is None]
        passed_over += [f"{name} is not in small letters: call it so" for name in names]
        raise NoChapter(shortened(passed_over[0], 160) if passed_over else "")
    near_them = [path.name for folder in top for path in beside[folder]]
    modules = list(filter(_is_module, near_them))
    if modules:
        told.note(f"not read: {listed(modules)}: what a chapter needs goes into it")
    told.leave(near_them)
    told.leave(_further_away(beside, top))
    others = [
        one
        for folder in folders
        if folder not in top and ENGINE not in PurePosixPath(folder).parts
        for one in folders[folder]
    ]
    elsewhere = list(worked_on(_called(others[:MOST_FILES])))
    counted = over_stubs(files, elsewhere, told)
    told.leave(one.name for one in others if one not in counted.values())
    for name, one in further_along(counted, elsewhere):
        told.note(f"{one.path} has less left to do than {name}, which counts: it lies further up")
    if archives:
        told.note(f"not opened: {listed(archives)}: hand in what is in it, beside the chapters")
        told.leave(archives)
    return counted


def _further_away(
    beside: Mapping[str, Sequence[PurePosixPath]], top: Sequence[str]
) -> Iterator[str]:
    """Name the files in other folders than the chapters'; of many in one it is said in short."""
    first = PurePosixPath(top[0])
    depth = len(first.parent.parts if first.name == "exercises" else first.parts)
    found: dict[str, list[str]] = defaultdict(list)
    for folder, paths in beside.items():
        if folder in top or not MADE_BY_OTHERS.isdisjoint(PurePosixPath(folder).parts):
            continue
        for path in paths:
            if path.parts[depth:] not in _of_the_kit():
                found["/".join(path.parts[: depth + 1])].append(str(path))
    for place, names in found.items():
        yield from names if len(names) <= FEW else [f"more than {FEW} files in {place}/"]


@functools.cache
def _of_the_kit() -> frozenset[tuple[str, ...]]:
    """List what students have from the kit beside the chapters, as parts of paths in it."""
    there = (*places.ROOT.glob("*"), *places.SUITES.glob("*"))
    return frozenset(path.relative_to(places.ROOT).parts for path in there)


class _Sorted(NamedTuple):
    folders: dict[str, list[Member]]
    beside: dict[str, list[PurePosixPath]]
    archives: list[str]
    passed_over: list[str]


def _sorted(members: Iterable[Member]) -> _Sorted:
    """Sort what is there: chapters and other files by their folders, archives, and what is out."""
    found = _Sorted(defaultdict(list), defaultdict(list), [], [])
    for member in members:
        folder = str(member.path.parent).casefold()
        if not like_a_chapter(member.name):
            if member.type == "folder" or member.hidden:
                continue
            if member.name.lower().endswith(ARCHIVES + OTHER_ARCHIVES):
                found.archives.append(member.name)
            else:
                found.beside[folder].append(member.path)
        elif member.strays:
            found.passed_over.append(f"{member.name} leads outside of the archive: pack it anew")
        elif member.hidden:
            says = f"{member.name} is hidden: give it a name without a dot in front"
            found.passed_over.append(says)
        else:
            found.folders[folder].append(member)
    return found


def _uppermost(folders: Mapping[str, Sequence[Member]]) -> list[str]:
    """Return the folders that are looked at first; several where they lie side by side."""
    depth = {folder: len(PurePosixPath(folder).parts) for folder in folders}
    top = sorted(folder for folder in folders if depth[folder] == min(depth.values()))
    below = [folder for folder in top if PurePosixPath(folder).name == "exercises"]
    return below or top


def _together(folders: Sequence[list[Member]], told: Told) -> dict[str, Member]:
    """Say by which name each file of some folders counts; of several, no two have a chapter.

    Raises:
        Unusable: they do.
    """
    for members in folders:
        _refuse_twins(members)
    if len(folders) < 2:
        return _named(folders[0], told) if folders else {}
    where = [str(members[0].path.parent) for members in folders]
    says = f"its chapters lie in {listed(where)}: hand in one of these folders by itself"
    if sum(map(len, folders)) > MOST_FILES:
        raise Unusable(says)
    called = list(without_repeats(_named(held, told).items() for held in folders))
    work = [list(worked_on(held)) for held in called]
    if not are_apart(work):
        raise Unusable(says)
    told.note(f"its chapters lie in {listed(where)}, and count together")
    stubs_last = sorted(itertools.chain(*called), key=lambda one: is_untouched(*one))
    counted = over_stubs(dict(stubs_last), itertools.chain(*work), told)
    told.leave(one.name for held in folders for one in held if one not in counted.values())
    return counted


def _called(members: Iterable[Member]) -> Iterator[Named]:
    """Name the chapters that files certainly are."""
    for member in members:
        said = meant(member.path.name)
        if said is None and chapter_of(member.path.name):
            yield member.path.name, member
        elif said is not None and said.sure:
            yield said.file, member


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
                f"{name} is not read: if it is chapter {said.file}, it has to be called so",
                [member.name],
            )
    for file, meant_as in near.items():
        names = in_words([member.path.name for member in meant_as])
        is_stub = file in files and is_untouched(file, files[file])
        if file in files and not is_stub:
            told.note(f"{names} is not read, {file} counts", [one.name for one in meant_as])
        elif len(meant_as) > 1:
            raise Unusable(f"{names}: it is not clear which one is {file}: leave one, called so")
        else:
            instead = f": {file} is as it was handed out" if is_stub else ""
            told.note(f"{names} counts as {file}{instead}", [files[file].name] if is_stub else [])
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
