"""Files that are packed by gzip where their name ends in .gz: the same bytes on every day."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

SUFFIX = ".gz"


@contextlib.contextmanager
def writer(path: Path) -> Iterator[TextIO]:
    """Open a file of text to write it.

    Args:
        path: written over if it is there.
    """
    if path.suffix != SUFFIX:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    with (
        path.open("wb") as bare,
        gzip.GzipFile("", "wb", fileobj=bare, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text,
    ):
        yield text


def read(path: Path) -> bytes:
    """Return what a file holds, unpacked.

    Raises:
        OSError: it cannot be read.
        ValueError: its name ends in .gz, and gzip did not pack it.
    """
    data = path.read_bytes()
    if path.suffix != SUFFIX:
        return data
    try:
        return gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise ValueError(f"{path.name} was not packed by gzip") from problem
