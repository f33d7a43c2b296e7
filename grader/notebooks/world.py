"""A world whose one chapter is a notebook's namespace, and whose others are files."""

from __future__ import annotations

import contextlib
import importlib
import linecache
import re
import traceback
import types
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from grader.chapters import BrokenFile, World
from grader.written.source import Source

CELL = "your cell"
# what Python calls code that comes from no file
BARE = "<string>"
# as IPython calls the cell that has [5] beside it; older ones have it in the name of a file
NUMBER = re.compile(r"In\[(\d+)\]|<ipython-input-(\d+)-")


class Space:
    """A namespace, looked at as a module."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.__dict__ = names


class NotebookWorld(World):
    """A notebook's chapter as it is right now, and the other chapters from their files.

    Args:
        stem: the notebook's chapter.
        space: the notebook's namespace; what a cell redefines is seen at once.
        others: where each of the other chapters lies, and what counts of it.
        names: every chapter's stem with the names of its exercises.
    """

    def __init__(
        self,
        stem: str,
        space: dict[str, Any],
        others: Mapping[str, tuple[Path, Source]],
        names: Mapping[str, Sequence[str]],
    ) -> None:
        super().__init__(Path.cwd(), names)
        self.stem, self.space, self.others = stem, space, dict(others)
        self.stand_ins: dict[str, types.ModuleType] = {}
        self.modules[stem] = Space(space)  # type: ignore[assignment]

    def chapter(self, stem: str) -> Source | None:
        """Return another chapter; None if there is nothing."""
        return self.others[stem][1] if stem in self.others else None

    def path(self, stem: str) -> Path:
        """Return where a chapter's file or notebook lies, or would lie."""
        return self.others[stem][0] if stem in self.others else super().path(stem)

    def goes_back_its_own_way(self) -> bool:
        """Say so: what stands in a cell is in no file that could be looked at."""
        return True

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Return a chapter; where there is none that runs, one whose functions say so.

        So a cell may import from a chapter that is broken, and only what calls it fails.
        """
        stem = spec.name.rsplit(".", 1)[-1]
        if stem in self.stand_ins:
            return self.stand_ins[stem]
        if stem not in self.others:
            return self._standing_in(spec.name, stem, None)
        try:
            return super().create_module(spec)
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            broken = problem if isinstance(problem, BrokenFile) else BrokenFile(stem, problem)
            return self._standing_in(spec.name, stem, broken)

    def _standing_in(
        self, full_name: str, stem: str, broken: BrokenFile | None
    ) -> types.ModuleType:
        module = types.ModuleType(full_name)
        for name in self.names.get(stem, ()):
            vars(module)[name] = _says(f"{stem}.{name}", broken)
        self.stand_ins[stem] = module
        self._cover(full_name, module)
        return module

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Let imports find this world's chapters, and note the lines that an error went through."""
        with super().active():
            try:
                yield
            except BaseException as problem:
                for one in (problem, getattr(problem, "cause", None)):
                    if isinstance(one, BaseException):
                        one.kit_frames = self._frames(one)  # type: ignore[attr-defined]
                raise

    def _frames(self, problem: BaseException) -> list[traceback.FrameSummary]:
        found = []
        for frame, number in traceback.walk_tb(problem.__traceback__):
            file, name = frame.f_code.co_filename, frame.f_code.co_name
            if frame.f_globals is self.space or file in self.imported:
                line = linecache.getline(file, number, frame.f_globals).strip()
                found.append(
                    traceback.FrameSummary(
                        self.called(file) or CELL, number, name, lookup_line=False, line=line
                    )
                )
        return found

    def called(self, file: str) -> str:
        """Return a chapter's file, or the notebook's cell by the number that is beside it."""
        if file in self.imported:
            return super().called(file)
        shell = self.space["get_ipython"]() if "get_ipython" in self.space else None
        name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
        found = NUMBER.search(" ".join(name or (file,)))
        if found:
            return f"cell [{found[1] or found[2]}]"
        return CELL if file == BARE else ""

    def owner(self, code: types.CodeType) -> str | None:
        """Return the full name of the exercise whose code this is."""
        return self._owner_in(self.stem, code) or super().owner(code)

    def take_over(self, before: NotebookWorld) -> None:
        """Give the notebook anew what it imported from another world's chapters."""
        known: dict[int, tuple[str, str]] = {}
        for stem, module in [*before.modules.items(), *before.stand_ins.items()]:
            if stem != self.stem:
                known[id(module)] = stem, ""
                for name in self.names.get(stem, ()):
                    made = vars(module).get(name)
                    if callable(made):
                        known[id(made)] = stem, name
        for key, value in list(self.space.items()):
            stem, name = known.get(id(value), ("", ""))
            if stem:
                module = importlib.import_module(stem)
                self.space[key] = getattr(module, name, value) if name else module


def _says(full: str, broken: BrokenFile | None) -> Any:
    def absent(*_: object, **__: object) -> None:
        if broken is not None:
            raise broken
        raise NotImplementedError(full)

    return absent
