"""Writing a pack, as a folder and as an archive: the same bytes from the same kit."""

from __future__ import annotations

import os
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from grader.release import ReleaseError

TOP = "attention-kit"
FIRST = 946_684_800  # the year 2000 in seconds
SPAN = 2**29  # and 17 years from there
FILE, FOLDER = 0o644, 0o755


def refuse_what_is_there(folder: Path, archive: Path | None) -> None:
    """Make sure that nothing is written over.

    Raises:
        ReleaseError: the folder is not empty, or there is such an archive.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ReleaseError(f"{folder} is there already and not empty: name a new folder")
    if archive is not None and archive.exists():
        raise ReleaseError(f"{archive} is there already: move it away first")


def release(files: Mapping[str, bytes], folder: Path, archive: Path | None) -> None:
    """Write a pack.

    Args:
        files: what is in it.
        folder: where to; not there yet, or empty.
        archive: a zip file to write as well, or None.

    Raises:
        OSError: it cannot be written.
    """
    when = _moment(files)
    _write_folder(files, folder, when)
    if archive is not None:
        _write_archive(files, archive, when)


def _moment(files: Mapping[str, bytes]) -> int:
    """Return the time that all files get, which depends on nothing but what is in them.

    Python takes a compiled file for fresh by the time and size of its source. So two packs, one
    unpacked over the other, must not have the same time.
    """
    sum_ = 0
    for name, data in sorted(files.items()):
        sum_ = zlib.crc32(data, zlib.crc32(name.encode(), sum_))
    return FIRST + sum_ % SPAN // 2 * 2


def _write_folder(files: Mapping[str, bytes], folder: Path, when: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folders = {folder}
    for name, data in sorted(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        folders |= {one for one in path.parents if folder in one.parents}
        path.write_bytes(data)
        path.chmod(FILE)
        os.utime(path, (when, when))
    for one in sorted(folders, reverse=True):
        one.chmod(FOLDER)
        os.utime(one, (when, when))


def _write_archive(files: Mapping[str, bytes], archive: Path, when: int) -> None:
    with zipfile.ZipFile(archive, "w") as file:
        for name, data in sorted(files.items()):
            member = zipfile.ZipInfo(f"{TOP}/{name}", time.gmtime(when)[:6])
            member.create_system = 3
            member.external_attr = (0o100000 | FILE) << 16
            # what platforms take has a limit; another version of zlib may pack the same otherwise
            file.writestr(member, data, zipfile.ZIP_DEFLATED)
