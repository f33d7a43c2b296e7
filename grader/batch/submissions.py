"""Finding submissions: folders and archives, and of each only its `ex*.py`."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

CHAPTER = re.compile(r"ex\d\d_\w+\.py")
ARCHIVES = (".zip", ".tar.gz", ".tgz")
LARGEST_FILE = 2**20
MOST_MEMBERS = 10_000


class Unusable(Exception):
    """A submission that cannot be read; the sentence says why."""


@dataclass(frozen=True)
class Submission:
    """One submission: a folder or an archive, with a name."""

    identity: str
    path: Path

    def files(self) -> dict[str, bytes]:
        """Read its chapters.

        Raises:
            Unusable: the archive is broken, a file cannot be read, or there is no `ex*.py`.
        """
        try:
            read = _from_archive if _is_archive(self.path) else _from_folder
            found = dict(read(self.path))
        except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, RuntimeError) as problem:
            kind = "archive" if _is_archive(self.path) else "folder"
            raise Unusable(f"the {kind} cannot be read: {problem}") from problem
        if not found:
            raise Unusable("it holds no ex*.py, neither directly nor under exercises/")
        return found


def find(paths: Iterable[Path]) -> list[Submission]:
    """List the submissions that the paths mean, in order, each with a name of its own.

    Raises:
        FileNotFoundError: a path is not there.
        ValueError: a file is no archive.
    """
    found: list[Submission] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        if path.is_file() and not _is_archive(path):
            raise ValueError(f"{path} is neither a folder nor a .zip or .tar.gz")
        found += list(_in(path))
    return list(_with_own_names(found))


def _in(path: Path) -> Iterator[Submission]:
    inner = [] if path.is_file() or any(_from_folder(path)) else _students(path)
    for student in inner:
        yield Submission(_stem(student), student)
    if not inner:
        yield Submission(_stem(path.resolve()), path)


def _students(path: Path) -> list[Path]:
    return sorted(
        entry
        for entry in path.iterdir()
        if not entry.name.startswith((".", "__")) and (entry.is_dir() or _is_archive(entry))
    )


def _with_own_names(found: list[Submission]) -> Iterator[Submission]:
    seen: dict[str, int] = {}
    for submission in found:
        name = submission.identity
        seen[name] = seen.get(name, 0) + 1
        yield submission if seen[name] == 1 else Submission(f"{name}-{seen[name]}", submission.path)


def _is_archive(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(ARCHIVES)


def _stem(path: Path) -> str:
    ending = next((end for end in ARCHIVES if path.name.lower().endswith(end)), "")
    return path.name[: len(path.name) - len(ending)] or str(path)


def _from_folder(path: Path) -> Iterator[tuple[str, bytes]]:
    for folder in (path, path / "exercises"):
        chapters = sorted(folder.glob("ex*.py")) if folder.is_dir() else []
        files = [file for file in chapters if CHAPTER.fullmatch(file.name) and file.is_file()]
        if files:
            for file in files:
                yield file.name, file.read_bytes()
            return


def _from_archive(path: Path) -> dict[str, bytes]:
    read = _zip_members if path.name.lower().endswith(".zip") else _tar_members
    members = dict(read(path))
    # the chapters may lie directly, under exercises/, or both below one folder
    depths = sorted({len(PurePosixPath(name).parts) for name in members})
    for depth in depths:
        level = {n: data for n, data in members.items() if len(PurePosixPath(n).parts) == depth}
        folders = {PurePosixPath(name).parent for name in level}
        if len(folders) > 1:
            folders = {f for f in folders if f.name == "exercises"} or folders
        if len(folders) == 1:
            folder = folders.pop()
            return {
                PurePosixPath(n).name: data
                for n, data in level.items()
                if PurePosixPath(n).parent == folder
            }
        raise Unusable("several folders of the archive hold ex*.py: one submission, one archive")
    return {}


def _zip_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        if len(archive.infolist()) > MOST_MEMBERS:
            raise Unusable(f"the archive has more than {MOST_MEMBERS} members")
        for member in archive.infolist():
            if _wanted(member.filename):
                _refuse_large(member.filename, member.file_size)
                with archive.open(member) as file:
                    yield member.filename, _read(file, member.filename)


def _tar_members(path: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        for count, member in enumerate(archive):
            if count > MOST_MEMBERS:
                raise Unusable(f"the archive has more than {MOST_MEMBERS} members")
            if member.isfile() and _wanted(member.name):
                _refuse_large(member.name, member.size)
                file = archive.extractfile(member)
                if file is not None:
                    yield member.name, _read(file, member.name)


def _wanted(name: str) -> bool:
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    return bool(parts) and not hidden and CHAPTER.fullmatch(parts[-1]) is not None


def _refuse_large(name: str, size: int) -> None:
    if size > LARGEST_FILE:
        raise Unusable(f"{name} is larger than {LARGEST_FILE} bytes")


def _read(file, name: str) -> bytes:  # noqa: ANN001
    data = file.read(LARGEST_FILE + 1)
    _refuse_large(name, len(data))
    return data
