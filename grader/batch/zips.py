"""Reading zip files: never more than was asked for, whatever the file says of itself."""

from __future__ import annotations

import bz2
import contextlib
import copy
import io
import lzma
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from grader.batch.member import Member, Type
from grader.batch.sources import MEBIBYTE, Unusable

MOST_MEMBERS = 10_000
LARGEST_DIRECTORY = 4 * MEBIBYTE
MEMORY = 128 * MEBIBYTE
ENCRYPTED = 0x1
ENDS_BY_A_MARK = 0x2


class _Cautious(io.FileIO):
    """A file of which nobody gets more at a time than the longest list of members."""

    def read(self, size: int | None = -1, /) -> bytes:
        asked = LARGEST_DIRECTORY + 1 if size is None or size < 0 else size
        data = super().read(min(asked, LARGEST_DIRECTORY + 1)) or b""
        if len(data) > LARGEST_DIRECTORY:
            raise Unusable(f"its list of members is larger than {LARGEST_DIRECTORY} bytes")
        return data


@contextlib.contextmanager
def members(path: Path | int) -> Iterator[list[Member]]:
    """List what a zip file holds; it can be read only inside the `with`.

    Args:
        path: the file, or the descriptor of an open one, which is closed.

    Raises:
        Unusable: too many members, or a name that cannot be decoded.
    """
    with _Cautious(path) as file:
        try:
            archive = zipfile.ZipFile(file)
        except UnicodeDecodeError as problem:
            raise Unusable("a name in it is not the UTF-8 that it says it is") from problem
        if len(archive.infolist()) > MOST_MEMBERS:
            raise Unusable(f"it has more than {MOST_MEMBERS} members: hand in ex*.py only")
        yield [
            Member(info.filename, _type(info), info.file_size, _reader(archive, info))
            for info in archive.infolist()
        ]


def _type(info: zipfile.ZipInfo) -> Type:
    mode = info.external_attr >> 16
    if info.is_dir() or stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "special file"


def _reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        if info.flag_bits & ENCRYPTED:
            raise Unusable(f"{info.filename} is encrypted: hand it in without a password")
        if info.compress_size > most + MEBIBYTE:
            raise Unusable(f"{info.filename} is larger than {most // MEBIBYTE} MiB")
        # packed bytes, unpacked here: zipfile unpacks bzip2 and lzma without a limit
        packed = copy.copy(info)
        packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
        del packed.CRC
        with archive.open(packed) as file:
            data = _unpacked(file, info, most + 1)
        if len(data) <= most and zlib.crc32(data) != info.CRC:
            raise Unusable(f"{info.filename} is damaged: its checksum does not fit")
        return data

    return read


def _unpacked(file: IO[bytes], info: zipfile.ZipInfo, most: int) -> bytes:
    packed = b"".join(iter(lambda: file.read(MEBIBYTE), b""))
    if info.compress_type == zipfile.ZIP_STORED:
        return packed[:most]
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
    if info.compress_type == zipfile.ZIP_BZIP2:
        return bz2.BZ2Decompressor().decompress(packed, most)
    if info.compress_type == zipfile.ZIP_LZMA:
        return _from_lzma(packed, info, most)
    raise Unusable(f"{info.filename} is packed in a way that is not read: use an ordinary zip")


def _from_lzma(packed: bytes, info: zipfile.ZipInfo, most: int) -> bytes:
    # a zip's lzma is the .lzma format with two bytes of version, two of a length, and no size
    marked = info.flag_bits & ENDS_BY_A_MARK
    size = b"\xff" * 8 if marked else info.file_size.to_bytes(8, "little")
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=MEMORY)
    return unpacker.decompress(packed[4:9] + size + packed[9:], most)
