"""What somebody hands in comes as a folder, as an archive or as loose files."""

from __future__ import annotations

import filecmp
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ARCHIVES = (".zip", ".tar.gz", ".tgz")
OTHER_ARCHIVES = (
    ".7z", ".rar", ".tar", ".tar.xz", ".txz", ".tar.bz2", ".tbz", ".tbz2", ".tar.zst",
    ".gz", ".bz2", ".xz", ".zst",
)  # fmt: skip


@dataclass(frozen=True)
class Loose:
    """What somebody handed in as files that lie among those of others.

    Attributes:
        files: for each the name that it has to have, and where it is.
        earlier: versions of these that do not count, the oldest first.
    """

    files: tuple[tuple[str, Path], ...]
    earlier: tuple[tuple[str, Path], ...] = ()


Upload = Path | Loose


def is_archive(path: Path) -> bool:
    """Tell whether a path is an archive of a kind that is opened."""
    return path.is_file() and path.name.lower().endswith(ARCHIVES)


def uploads_in(folder: Path) -> list[Path]:
    """List the archives in a folder, also those of kinds that are not opened, but for links."""
    return sorted(
        entry
        for entry in folder.iterdir()
        if entry.name.lower().endswith(ARCHIVES + OTHER_ARCHIVES)
        and entry.is_file()
        and not entry.is_symlink()
    )


def the_same(uploads: Sequence[Path]) -> bool:
    """Tell whether archives are one, handed in again and again."""
    return all(filecmp.cmp(uploads[0], other, shallow=False) for other in uploads[1:])
