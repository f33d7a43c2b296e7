"""A submission as a worker holds it: its chapters lie in memory, and nowhere on a disk."""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.answers.world import World
from grader.written.source import Source, is_of_notebook, name_of

# where the chapters seem to lie: the same for every submission in every run
SUBMISSION = Path("/submission")


class HeldWorld(World):
    """Chapters that are held in memory.

    Args:
        names: every chapter's stem with the names of its exercises.
    """

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        super().__init__(SUBMISSION, names)
        self._held: dict[str, bytes] = {}

    def hold(self, file: str, source: bytes) -> None:
        """Take a chapter, by the name of its file."""
        self._held[file] = source

    def chapter(self, stem: str) -> Source | None:
        """Return a chapter; what shows lines of it finds them, too."""
        text = self._held.get(f"{stem}.py")
        if text is None:
            return None
        found = Source(name_of(stem, text), text)
        file = str(self.folder / found.name)
        if not is_of_notebook(text) and file not in linecache.cache:
            with contextlib.suppress(SyntaxError, ValueError, LookupError):
                lines = importlib.util.decode_source(text).splitlines(keepends=True)
                linecache.cache[file] = len(text), None, lines, file
        return found


def chapters_in(folder: Path) -> dict[str, bytes]:
    """Read the chapters that lie in a folder, by the names of their files."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("ex*.py"))}
