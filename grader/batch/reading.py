"""Reading one submission: folder or archive, and every way of failing as one plain sentence."""

from __future__ import annotations

import struct
import tarfile
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path

from grader.batch import folders, tars, zips
from grader.batch.members import chosen
from grader.batch.names import shortened
from grader.batch.sources import Unusable, sources

ARCHIVES = (".zip", ".tar.gz", ".tgz")
OTHER_ARCHIVES = (
    ".7z", ".rar", ".tar", ".tar.xz", ".txz", ".tar.bz2", ".tbz", ".tbz2", ".tar.zst",
    ".gz", ".bz2", ".xz", ".zst",
)  # fmt: skip
DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, struct.error,
    ValueError, OverflowError, NotImplementedError,
)  # fmt: skip


def read(path: Path) -> dict[str, bytes]:
    """Read the sources of a submission's chapters, by names that end in `.py`.

    Raises:
        Unusable: with the reason as a sentence that can be printed anywhere.
    """
    try:
        return sources(_files(path))
    except Unusable as problem:
        raise Unusable(shortened(str(problem))) from problem
    except OSError as problem:
        raise Unusable(_unreadable(path, problem)) from problem
    except DAMAGED as problem:
        raise Unusable(_damaged(path, problem)) from problem


def is_archive(path: Path) -> bool:
    """Tell whether a path is an archive of a kind that is opened."""
    return path.is_file() and path.name.lower().endswith(ARCHIVES)


def _is_upload(path: Path) -> bool:
    plain = path.is_file() and not path.is_symlink()
    return plain and path.name.lower().endswith(ARCHIVES + OTHER_ARCHIVES)


def _files(path: Path) -> dict[str, bytes]:
    if not is_archive(path):
        return _from_folder(path)
    if path.name.lower().endswith(".zip"):
        with zips.members(path) as found:
            return chosen(found)
    return chosen(tars.members(path))


def _from_folder(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        found = folders.members(path)
        # as learning platforms hand it out: a folder for each student, with what was uploaded
        uploads = [] if found else [entry for entry in path.iterdir() if _is_upload(entry)]
        if len(uploads) == 1:
            return _files(uploads[0])
        # as in an archive, one folder may lie around it all
        below = [] if found else folders.folders_in(path)
        return chosen(folders.members(below[0]) if len(below) == 1 else found)
    if path.is_file():
        raise Unusable(f"a {path.suffix} file is not opened: hand in a .zip or .tar.gz")
    raise Unusable("it is neither a folder nor a file")


def _damaged(path: Path, problem: Exception) -> str:
    kind = next((end for end in ARCHIVES if path.name.lower().endswith(end)), "archive")
    return shortened(f"the archive cannot be read: it is damaged, or no {kind} ({problem})")


def _unreadable(path: Path, problem: OSError) -> str:
    """Say what the system said, without the way to the submission."""
    if problem.errno is None:  # gzip's own, which is no more of the system's
        return _damaged(path, problem)
    place = Path(problem.filename).name if isinstance(problem.filename, str) else ""
    about = f"{place}: " if place and place != path.name else ""
    kind = "archive" if is_archive(path) else "folder"
    return shortened(f"the {kind} cannot be read: {about}{problem.strerror or problem}")
