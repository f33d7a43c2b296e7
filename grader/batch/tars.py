"""Reading .tar.gz files: unpacked in memory as far as that goes; headers get a bounded share."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.batch.member import Member, Type
from grader.batch.members import LARGEST_IN_ALL, largest_of, like_a_chapter
from grader.batch.sources import MEBIBYTE, Unusable

MOST_MEMBERS = 10_000
LARGEST_UNPACKED = 256 * MEBIBYTE
LARGEST_HEADER, LARGEST_HEADERS = 2**16, 16 * MEBIBYTE


class _Headers(io.BytesIO):
    """The unpacked archive as tarfile reads it, which is asked for nothing but headers."""

    taken = most = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, within what a header may have, and all of them."""
        self.taken += size or 0
        if size is None or size < 0 or self.taken > self.most:
            raise Unusable(f"a header in it is larger than {LARGEST_HEADER} bytes")
        if self.taken > LARGEST_HEADERS:
            most = LARGEST_HEADERS // MEBIBYTE
            raise Unusable(f"its headers are larger than {most} MiB: hand in ex*.py only")
        return super().read(size)


def members(path: Path) -> Iterator[Member]:
    """List what a .tar.gz holds, with what may count.

    Raises:
        Unusable: too many members, too large in any way, or damaged.
    """
    with gzip.open(path) as stream:  # read to where the checksum is
        data = stream.read(LARGEST_UNPACKED + 1)
    if len(data) > LARGEST_UNPACKED:
        raise Unusable(f"it unpacks to more than {LARGEST_UNPACKED // MEBIBYTE} MiB")
    headers = _Headers(data)
    headers.most = LARGEST_HEADER
    archive = tarfile.open(  # noqa: SIM115 - closing it would do nothing
        fileobj=headers, mode="r:", encoding="utf-8", errors="surrogateescape"
    )
    total = count = 0
    while (info := _next(archive, headers)) is not None:
        count += 1
        if count > MOST_MEMBERS:
            raise Unusable(f"it has more than {MOST_MEMBERS} members: hand in ex*.py only")
        if info.size < 0:
            raise Unusable(f"it is damaged: {info.name} has a size below 0")
        counts = like_a_chapter(info.name) and _type(info) == "file"
        size = info.size if counts and info.size <= largest_of(info.name) else 0
        total += size
        if total > LARGEST_IN_ALL:
            raise Unusable("its ex*.py are too large")
        held = data[info.offset_data : info.offset_data + size]
        yield Member(info.name, _type(info), info.size, _already(held))


def _already(data: bytes) -> Callable[[int], bytes]:
    return lambda _: data


def _next(archive: tarfile.TarFile, headers: _Headers) -> tarfile.TarInfo | None:
    headers.most = headers.taken + LARGEST_HEADER
    info = archive.next()
    # it would remember every member, and copy every global header into each
    archive.members.clear()  # type: ignore[attr-defined]
    archive.pax_headers = {}
    return info


def _type(info: tarfile.TarInfo) -> Type:
    if info.issym() or info.islnk():
        return "link"
    if info.isdir():
        return "folder"
    return "file" if info.isfile() and not info.issparse() else "special file"
