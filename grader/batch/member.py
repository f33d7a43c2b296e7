"""One entry of a folder or an archive, as it is declared there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

# with these begins what systems and tools leave behind
LEFT_BEHIND = (".", "__MACOSX")
Type = Literal["file", "link", "folder", "special file"]


@dataclass(frozen=True)
class Member:
    """One entry of a folder or an archive.

    Attributes:
        name: with the folders above it, as the folder or the archive spells it.
        type: only a file is ever read.
        size: as it is declared.
        read: returns its bytes; at most one more than the limit that it is given.
    """

    name: str
    type: Type
    size: int
    read: Callable[[int], bytes]

    @property
    def path(self) -> PurePosixPath:
        """The name as a path; a backslash separates, as in archives that Windows made."""
        return path_of(self.name)

    @property
    def strays(self) -> bool:
        """Whether the name leads outside of the place where it is unpacked."""
        path = self.path
        return path.is_absolute() or ".." in path.parts or ":" in path.parts[0]

    @property
    def hidden(self) -> bool:
        """Whether it lies among what systems and tools leave behind."""
        return any(part.startswith(LEFT_BEHIND) for part in self.path.parts)


def path_of(name: str) -> PurePosixPath:
    """Read a name as a path; a backslash separates, as in archives that Windows made."""
    return PurePosixPath(name.replace("\\", "/"))
