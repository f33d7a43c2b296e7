"""Reading .tar.gz files: a stream of bounded length, of which headers get a bounded share."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from grader.batch.member import Member, Type
from grader.batch.members import LARGEST_IN_ALL, largest_of, like_a_chapter
from grader.batch.sources import MEBIBYTE, Unusable

MOST_MEMBERS = 10_000
LARGEST_UNPACKED = 256 * MEBIBYTE
LARGEST_HEADER = 2**16
BLOCK = 512


class _Bounded:
    """The unpacked stream as tarfile reads it: forward only, so far and no further."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream, self._left = stream, 0

    def allow(self, size: int) -> None:
        """Let so many bytes be read before the next call of this."""
        self._left = size

    def read(self, size: int) -> bytes:
        """Read, within what was allowed."""
        self._left -= size
        if size < 0 or self._left < 0:
            raise Unusable(f"a header in it is larger than {LARGEST_HEADER} bytes")
        return self._stream.read(size)

    def seek(self, place: int) -> None:
        """Skip forward; tarfile itself never goes back by more than it has just read."""
        if place > LARGEST_UNPACKED:
            raise Unusable(f"it unpacks to more than {LARGEST_UNPACKED // MEBIBYTE} MiB")
        if place < self.tell() - BLOCK:
            raise Unusable("it is damaged: a member lies before the one before it")
        self._stream.seek(place)

    def tell(self) -> int:
        """Say where the stream is."""
        return self._stream.tell()


def members(path: Path) -> Iterator[Member]:
    """List what a .tar.gz holds; what may count is read already: a stream has one pass.

    Raises:
        Unusable: too many members, too large in any way, or damaged.
    """
    with gzip.open(path) as stream:
        bounded = _Bounded(stream)
        bounded.allow(LARGEST_HEADER)
        archive = tarfile.open(  # noqa: SIM115 - closing it would do nothing
            fileobj=bounded,  # type: ignore[call-overload]
            mode="r:", encoding="utf-8", errors="surrogateescape",
        )  # fmt: skip
        total = count = 0
        while (info := _next(archive, bounded)) is not None:
            count += 1
            if count > MOST_MEMBERS:
                raise Unusable(f"it has more than {MOST_MEMBERS} members: hand in ex*.py only")
            if info.size < 0:
                raise Unusable(f"it is damaged: {info.name} has a size below 0")
            if like_a_chapter(info.name):
                data = _data(archive, bounded, info)
                total += len(data)
                if total > LARGEST_IN_ALL:
                    raise Unusable("its ex*.py are too large")
                yield Member(info.name, _type(info), info.size, _already(data))
            else:
                yield Member(info.name, _type(info), info.size, _already(b""))
        _to_the_end(stream)


def _already(data: bytes) -> Callable[[int], bytes]:
    return lambda _: data


def _next(archive: tarfile.TarFile, bounded: _Bounded) -> tarfile.TarInfo | None:
    bounded.allow(LARGEST_HEADER)
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


def _data(archive: tarfile.TarFile, bounded: _Bounded, info: tarfile.TarInfo) -> bytes:
    most = largest_of(info.name)
    if _type(info) != "file" or info.size > most:
        return b""
    bounded.allow(info.size)
    file = archive.extractfile(info)
    return file.read(info.size) if file is not None else b""


def _to_the_end(stream: gzip.GzipFile) -> None:
    """Go on to where the checksum is: a damaged header looks like the end to tarfile."""
    while stream.read(MEBIBYTE):
        if stream.tell() > LARGEST_UNPACKED:
            raise Unusable(f"it unpacks to more than {LARGEST_UNPACKED // MEBIBYTE} MiB")
