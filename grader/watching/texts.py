"""Telling a save that changes something from one that does not."""

from __future__ import annotations

from pathlib import Path

from grader.written.folder import Folder
from grader.written.source import NOTEBOOK


class Texts:
    """Remembers the code of files and notebooks: what stands around it does not matter."""

    def __init__(self) -> None:
        self._code: dict[str, bytes | None] = {}

    def changed(self, folder: Folder, name: str) -> bool:
        """Tell whether the code is another than it was when this was asked last."""
        if name.endswith(NOTEBOOK):
            code: bytes | None = folder.notebook(name.removesuffix(NOTEBOOK))
        else:
            code = _read(folder.path / name)
        before, self._code[name] = self._code.get(name), code
        return code != before


def size(path: Path) -> int:
    """Return how much is in a file; 0 if it is not there."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
