"""Reading one submission: folder or archive, and every way of failing as one plain sentence."""

from __future__ import annotations

import os
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from lzma import LZMAError
from pathlib import Path

from grader.batch import folders, tars, zips
from grader.batch.copies import are_untouched
from grader.batch.member import Member
from grader.batch.members import LARGEST_IN_ALL, Chosen, chosen, data_of, like_a_chapter
from grader.batch.names import listed, shortened
from grader.batch.no_chapter import no_chapter
from grader.batch.sources import SCRIPT, NoChapter, Told, Unusable, sources
from grader.batch.uploads import ARCHIVES, Loose, Upload, is_archive, the_same, uploads_in
from grader.naming import in_words

DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, struct.error,
    ValueError, OverflowError, NotImplementedError,
)  # fmt: skip


def read(
    path: Upload,
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
        path = _opened(path, told)
        files, bad = _files(path, told)
        return sources(files, names, bad, told)
    except Unusable as problem:
        raise Unusable(shortened(str(problem))) from problem
    except OSError as problem:
        raise Unusable(_unreadable(path, problem)) from problem
    except DAMAGED as problem:
        raise Unusable(_damaged(path, problem)) from problem


def held(path: Upload) -> list[str]:
    """List the names of what was handed in, of very much the first ones; links are not followed.

    Args:
        path: a folder, an archive, or loose files.

    Raises:
        OSError: it cannot be looked into.
    """
    if isinstance(path, Loose):
        return [file.name for _, file in (*path.files, *path.earlier)]
    if path.is_symlink() or not path.is_dir():
        return _held_in(path)
    beside = _shown(folders.everything(path))
    uploads = uploads_in(path)
    if not uploads or not the_same(uploads):
        return beside
    return [name for name in beside if name != uploads[0].name] + _held_in(uploads[0])


def _held_in(archive: Path) -> list[str]:
    """List what an archive holds; what cannot be opened is named itself."""
    if archive.is_symlink() or not is_archive(archive):
        return [archive.name]
    try:
        return _shown(_everything(archive))
    except (Unusable, OSError, *DAMAGED):
        return [archive.name]


def _shown(members: Iterable[Member]) -> list[str]:
    files = (one for one in members if one.type != "folder")
    return [str(one.path) for one in files if not one.hidden or like_a_chapter(one.name)]


def _everything(path: Path) -> list[Member]:
    if path.is_dir():
        return list(folders.everything(path))
    if path.name.lower().endswith(".zip"):
        with zips.members(path) as found:
            return found
    return list(tars.members(path))


def is_plain(path: Upload) -> bool:
    """Tell whether to read a submission is to read bytes, and nothing to unpack or to parse."""
    if isinstance(path, Loose):
        return all(name.endswith(SCRIPT) for name, _ in path.files)
    try:
        if path.is_dir() and uploads_in(path):
            return False
        found = folders.at_any_depth(path) if path.is_dir() else []
    except (OSError, Unusable):
        return True  # it is said when it is read
    kinds = {one.path.suffix.lower() for one in found if like_a_chapter(one.name)}
    return kinds == {SCRIPT}


def _files(path: Upload, told: Told) -> Chosen:
    if isinstance(path, Loose):
        return chosen(folders.loose(path.files), told)
    try:
        if not is_archive(path):
            return _from_no_archive(path, told)
        if path.name.lower().endswith(".zip"):
            with zips.members(path) as found:
                return _from_zip(found, told)
        return chosen(tars.members(path), told)
    except NoChapter as none:
        raise Unusable(no_chapter(_everything(path), none.passed_over)) from none


def _from_zip(found: Sequence[Member], told: Told) -> Chosen:
    """Choose among what a zip holds; if that is nothing but one other zip, what this one holds."""
    files = [one for one in found if one.type == "file" and not one.hidden]
    if len(files) != 1 or not files[0].name.lower().endswith(".zip"):
        return chosen(found, told)
    # a file without a name: nothing stays behind if this process is ended meanwhile
    with tempfile.TemporaryFile() as file:
        file.write(data_of(files[0], LARGEST_IN_ALL))
        file.flush()
        try:
            with zips.members(os.dup(file.fileno())) as members:
                return chosen(members, told)
        except zipfile.BadZipFile:
            return chosen(found, told)


def _opened(path: Upload, told: Told) -> Upload:
    """Return the archive that was uploaded, where a folder holds nobody's work beside it."""
    if isinstance(path, Loose) or path.is_symlink() or not path.is_dir():
        return path
    uploads = uploads_in(path)
    if not uploads:
        return path
    chapters = [one for one in folders.at_any_depth(path) if like_a_chapter(one.name)]
    if not are_untouched(chapters):
        return path
    if not the_same(uploads):
        which = in_words([entry.name for entry in uploads[:3]])
        raise Unusable(f"{which} lie there: it is not clear which one counts: put all into one")
    if len(uploads) > 1:
        again = [entry.name for entry in uploads[1:]]
        told.note(f"{listed(again)} is the same as {uploads[0].name}, which counts", again)
    if chapters:
        names = [one.name for one in chapters]
        told.note(f"{uploads[0].name} counts: what lies beside it is as it was handed out", names)
    return uploads[0]


def _from_no_archive(path: Path, told: Told) -> Chosen:
    if path.is_dir():
        return chosen(folders.at_any_depth(path), told)
    if path.is_file():
        raise Unusable(f"{path.name} is not opened: hand in a .zip or .tar.gz")
    raise Unusable("it is neither a folder nor a file")


def _damaged(path: Upload, problem: Exception) -> str:
    if isinstance(path, Loose):
        return shortened(f"a file cannot be read: {problem}")
    kind = next((end for end in ARCHIVES if path.name.lower().endswith(end)), "archive")
    why = f"it is damaged, or no {kind} ({shortened(str(problem), 100)})"
    return shortened(f"the archive {path.name} cannot be read: {why}: pack it anew")


def _unreadable(path: Upload, problem: OSError) -> str:
    """Say what the system said, without the way to the submission."""
    if isinstance(path, Loose):
        return shortened(f"a file cannot be read: {problem.strerror or problem}")
    if problem.errno is None:  # gzip's own, which is no more of the system's
        return _damaged(path, problem)
    place = Path(problem.filename).name if isinstance(problem.filename, str) else ""
    about = f"{place}: " if place and place != path.name else ""
    kind = "archive" if is_archive(path) else "folder"
    return shortened(f"the {kind} cannot be read: {about}{problem.strerror or problem}")
