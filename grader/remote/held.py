"""A submission as a worker holds it: its chapters lie in memory, and nowhere on a disk."""

from __future__ import annotations

import contextlib
import importlib.util
import linecache
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.answers.world import PACKAGE, World
from grader.trouble import BrokenFile
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
        self._lent: dict[str, dict[str, Any]] = {}
        self._beside: dict[str, dict[str, Any]] = {}

    def hold(self, file: str, source: bytes) -> None:
        """Take a chapter, by the name of its file."""
        self._held[file] = source

    def lend(self, full: str, made: Any) -> None:
        """Let something stand for an exercise from the start, whatever its chapter holds."""
        stem, name = full.split(".")
        self._lent.setdefault(stem, {})[name] = made

    def _run(self, stem: str) -> None:
        if stem not in self._lent:
            super()._run(stem)
            return
        module = types.ModuleType(f"{PACKAGE}.{stem}")
        module.__file__, module.__package__ = str(self.path(stem)), PACKAGE
        vars(module).update(self._lent[stem])
        module.__getattr__ = lambda name: self._found_beside(stem, name)  # type: ignore[method-assign]
        self._register(stem, module)

    def _found_beside(self, stem: str, name: str) -> Any:
        """Return what else a chapter holds whose exercises are lent: it is run when asked for."""
        if name.startswith("__") or self.chapter(stem) is None:
            raise AttributeError(f"module {stem!r} has no attribute {name!r}")
        if stem not in self._beside:
            self._beside[stem] = self._own(stem)
        if name not in self._beside[stem]:
            raise AttributeError(f"module {stem!r} has no attribute {name!r}")
        return self._beside[stem][name]

    def _own(self, stem: str) -> dict[str, Any]:
        """Run a chapter's own file; what it calls by the names of exercises is what is lent."""
        chapter, module = self.chapter(stem), types.ModuleType(f"{PACKAGE}.{stem}")
        assert chapter is not None
        module.__file__, module.__package__ = str(self.path(stem)), PACKAGE
        try:
            self._execute(stem, chapter, vars(module))
        except Exception as problem:
            raise BrokenFile(stem, problem, chapter.name) from problem
        vars(module).update(self._lent[stem])
        return vars(module)

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
