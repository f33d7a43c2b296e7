"""Reading one submission: folder or archive, and every way of failing as one plain sentence."""

from __future__ import annotations

import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path

from grader.batch import folders, tars, zips
from grader.batch.members import Chosen, chosen, like_a_chapter
from grader.batch.names import shortened
from grader.batch.sources import SCRIPT, Told, Unusable, sources

ARCHIVES = (".zip", ".tar.gz", ".tgz")
OTHER_ARCHIVES = (
    ".7z", ".rar", ".tar", ".tar.xz", ".txz", ".tar.bz2", ".tbz", ".tbz2", ".tar.zst",
    ".gz", ".bz2", ".xz", ".zst",
)  # fmt: skip
DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, struct.error,
    ValueError, OverflowError, NotImplementedError,
)  # fmt: skip


@dataclass(frozen=True)
class Loose:
    """What somebody handed in as files that lie among those of others.

    Attributes:
        files: for each the name that it has to have, and where it is.
    """

    files: tuple[tuple[str, Path], ...]


Place = Path | Loose


def read(
    path: Place,
    names: Mapping[str, Sequence[str]] | None = None,
    told: Told | None = None,
) -> dict[str, bytes]:
    """Read the sources of a submission's chapters, by names that end in `.py`.

    Args:
        path: a folder, an archive, or loose files.
        names: every chapter's stem with the names of its exercises; None: as the kit has them.
        told: is told of files that count under another name, or do not count.

    Raises:
        Unusable: with the reason as a sentence that can be printed anywhere.
    """
    told = told or Told()
    try:
        files, bad = _files(path, told)
        return sources(files, names, bad, told)
    except Unusable as problem:
        raise Unusable(shortened(str(problem))) from problem
    except OSError as problem:
        raise Unusable(_unreadable(path, problem)) from problem
    except DAMAGED as problem:
        raise Unusable(_damaged(path, problem)) from problem


def is_plain(path: Place) -> bool:
    """Tell whether to read a submission is to read bytes, and nothing to unpack or to parse."""
    if isinstance(path, Loose):
        return all(name.endswith(SCRIPT) for name, _ in path.files)
    try:
        found = folders.members(path) if path.is_dir() else []
    except (OSError, Unusable):
        return True  # it is said when it is read
    kinds = {one.path.suffix.lower() for one in found if like_a_chapter(one.name)}
    return kinds == {SCRIPT}


def is_archive(path: Path) -> bool:
    """Tell whether a path is an archive of a kind that is opened."""
    return path.is_file() and path.name.lower().endswith(ARCHIVES)


def _is_upload(path: Path) -> bool:
    plain = path.is_file() and not path.is_symlink()
    return plain and path.name.lower().endswith(ARCHIVES + OTHER_ARCHIVES)


def _files(path: Place, told: Told) -> Chosen:
    if isinstance(path, Loose):
        return chosen(folders.loose(path.files))
    if not is_archive(path):
        return _from_folder(path, told)
    if path.name.lower().endswith(".zip"):
        with zips.members(path) as found:
            return chosen(found, told)
    return chosen(tars.members(path), told)


def _from_folder(path: Path, told: Told) -> Chosen:
    if path.is_dir():
        found = [one for one in folders.members(path) if like_a_chapter(one.name)]
        # as learning platforms hand it out: a folder for each student, with what was uploaded
        uploads = [] if found else [entry for entry in path.iterdir() if _is_upload(entry)]
        if len(uploads) == 1:
            return _files(uploads[0], told)
        if uploads:
            which = " and ".join(sorted(entry.name for entry in uploads)[:3])
            raise Unusable(f"{which} lie there: it is not clear which one counts: leave one")
        # as in an archive, one folder may lie around it all
        below = [] if found else folders.folders_in(path)
        return chosen(folders.members(below[0] if len(below) == 1 else path), told)
    if path.is_file():
        raise Unusable(f"a {path.suffix} file is not opened: hand in a .zip or .tar.gz")
    raise Unusable("it is neither a folder nor a file")


def _damaged(path: Place, problem: Exception) -> str:
    if isinstance(path, Loose):
        return shortened(f"a file cannot be read: {problem}")
    kind = next((end for end in ARCHIVES if path.name.lower().endswith(end)), "archive")
    return shortened(f"the archive cannot be read: it is damaged, or no {kind} ({problem})")


def _unreadable(path: Place, problem: OSError) -> str:
    """Say what the system said, without the way to the submission."""
    if isinstance(path, Loose):
        return shortened(f"a file cannot be read: {problem.strerror or problem}")
    if problem.errno is None:  # gzip's own, which is no more of the system's
        return _damaged(path, problem)
    place = Path(problem.filename).name if isinstance(problem.filename, str) else ""
    about = f"{place}: " if place and place != path.name else ""
    kind = "archive" if is_archive(path) else "folder"
    return shortened(f"the {kind} cannot be read: {about}{problem.strerror or problem}")
