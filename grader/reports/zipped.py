"""Members of archives that come out the same bytes on every machine and every day."""

from __future__ import annotations

import zipfile


def add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int = 0o644) -> None:
    """Add a file, as old as a file of an archive can be.

    Args:
        archive: open to be written.
        name: of the member.
        data: what it holds.
        mode: who may do what with it.
    """
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system = 3  # Unix, or the mode means nothing
    entry.external_attr = mode << 16
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
