"""A world: one folder of answers, imported so that its chapters find one another.

Chapters may import each other as `ex04_softmax`, as `exercises.ex04_softmax` or relatively; each
file is run once. A chapter that is not in the folder is stood in for by functions that say so.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib.util
import json
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import torch
from torch import nn

from grader import devices
from grader.answers.door import around
from grader.answers.kept import Became
from grader.answers.ready_made import noticing
from grader.answers.switches import PutBack, put_back
from grader.costs import Counting
from grader.dry_run import Crossing
from grader.reading.calls import goes_back_its_own_way
from grader.reading.families import Family
from grader.reading.uses import uses
from grader.trouble import ABSENT, BrokenFile, Missing
from grader.written.cells import compiled
from grader.written.folder import Folder
from grader.written.source import FILE, Source, Unreadable

PACKAGE = "exercises"
CHAPTER = re.compile(r"ex\d\d_\w+")
OFF_LIMITS = ("solutions", "tests")
# in a pack of some chapters: the others, with the names of their exercises
ELSEWHERE = Path(__file__).with_name("elsewhere.json")


@functools.cache
def elsewhere() -> dict[str, list[str]]:
    """Return the chapters that a pack does not hold, and that a student may have all the same."""
    said = ELSEWHERE.read_text(encoding="utf-8") if ELSEWHERE.is_file() else "{}"
    return dict(json.loads(said))


class World(MetaPathFinder, Loader):
    """The chapters of one folder, imported on demand.

    Args:
        folder: holds `ex*.py` or `ex*.ipynb`; need not hold all of them.
        names: every chapter's stem with the names of its exercises.

    Attributes:
        switched: by chapter, what it had set for the whole process; that has been put back.
    """

    def __init__(self, folder: Path, names: Mapping[str, Sequence[str]]) -> None:
        self.folder = folder
        every: dict[str, Sequence[str]] = {**elsewhere(), **names}
        self.names: Mapping[str, Sequence[str]] = dict(sorted(every.items()))
        self.modules: dict[str, types.ModuleType] = {}
        self.switched: dict[str, list[PutBack]] = {}
        self._files: dict[str, str] = {}
        self._chapters: dict[str, Source | None] = {}
        self._broken: dict[str, BrokenFile] = {}
        self._covered: dict[str, types.ModuleType | None] = {}
        self._filled: set[str] = set()
        self._active = 0
        self.asked = 0
        self.crossing: Crossing | None = None
        self.counting: Counting | None = None
        self._counted: Counting | None = None
        self.became: list[Became] = []
        self.switches_left: list[tuple[str, str]] = []

    @property
    def imported(self) -> Mapping[str, str]:
        """The chapters that have been imported, or are being so, by the names of their files."""
        return self._files

    def function(self, stem: str, name: str) -> Callable[..., Any]:
        """Return an exercise, ready to be called.

        Raises:
            BrokenFile: its file, or one that it imports, does not run.
            Missing: the file has no such function.
        """
        self.asked += 1
        made = self.found(stem, name)
        if made is None:
            raise Missing(f"{self.path(stem).name} has no `{name}`")
        if not callable(made):
            kind, file = type(made).__name__, self.path(stem).name
            raise Missing(f"`{name}` in {file} is a {kind}, not a function")
        return around(made, self)

    def found(self, stem: str, name: str) -> Any:
        """Return what a chapter has under the name of an exercise; None if it has nothing."""
        module = self.load(stem)
        return vars(module).get(name) if stem in self._filled else getattr(module, name, None)

    def method(self, made: Any, name: str) -> Callable[..., Any]:
        """Return a method of an object that an exercise has made, ready to be called."""
        return around(getattr(made, name), self)

    def attribute(self, made: Any, name: str) -> Any:
        """Return an attribute of an object that an exercise has made."""
        return getattr(made, name)

    def noticing(self, family: Family) -> contextlib.AbstractContextManager[list[str]]:
        """Collect the ready-made calls of a family."""
        return noticing(family)

    def goes_back_its_own_way(self) -> bool:
        """Tell whether code of the answer may have a part in a backward pass."""
        return goes_back_its_own_way(filter(None, map(self.source, self.names)))

    def within(self, seconds: float) -> contextlib.AbstractContextManager[None]:  # noqa: ARG002
        """Do nothing: what runs here has a clock of its own."""
        return contextlib.nullcontext()

    def runs_here(self, module: nn.Module) -> bool:  # noqa: ARG002
        """Tell whether a call of a module runs it in this process."""
        return True

    def begins_to_count(self) -> Counting:
        """Count from now on what calls cost, until `counting` is None."""
        self.counting = self._counted = Counting(self.called, after=self._counted)
        return self.counting

    def renew(self) -> None:
        """Do nothing: there is this process only."""

    def begin(self, seed: int) -> None:
        """Begin a check, with torch's own generators at `seed`."""
        self._counted = None
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Seed torch's own generators."""
        # torch.manual_seed also queues a seed for every device, with a stack trace each: 3 ms
        torch.default_generator.manual_seed(seed)
        devices.seed(seed)

    def random_states(self) -> list[torch.Tensor]:
        """Return the states of torch's own generators."""
        return [torch.get_rng_state(), *devices.random_states()]

    def chapter(self, stem: str) -> Source | None:
        """Return what counts of a chapter, read once; None if there is nothing."""
        if stem not in self._chapters:
            self._chapters[stem] = Folder(self.folder, self.names).source(stem)
        return self._chapters[stem]

    def path(self, stem: str) -> Path:
        """Return where the chapter's file or notebook lies, or would lie."""
        found = self.chapter(stem)
        return self.folder / (found.name if found is not None else stem + FILE)

    def source(self, stem: str) -> bytes | None:
        """Return the chapter's Python; None if there is no such chapter."""
        found = self.chapter(stem)
        return found.text if found is not None else None

    def load(self, stem: str) -> types.ModuleType:
        """Import a chapter.

        Raises:
            BrokenFile: its file, or one that it imports, does not run.
        """
        if stem in self._broken:
            raise self._broken[stem]
        if stem not in self.modules:
            with self.active():
                self._run(stem)
        return self.modules[stem]

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Let imports of chapters, also late ones inside functions, find this world's."""
        self._active += 1
        try:
            # inside: a time limit may strike while it enters, and what it covered must come back
            if self._active == 1:
                self._enter()
            yield
        finally:
            self._active -= 1
            if not self._active:
                self._leave()

    @contextlib.contextmanager
    def replaced(self, stand_ins: Mapping[str, Any]) -> Iterator[None]:
        """Put other objects in the place of exercises, wherever a chapter's globals hold them.

        Args:
            stand_ins: from full names, `ex04_softmax.softmax`, to what takes their place.
        """
        swaps = []
        for full, stand_in in stand_ins.items():
            stem, name = full.split(".")
            original = getattr(self.modules.get(stem), name, None)
            if original is not None:
                swaps.append((original, stand_in))
        undo: list[tuple[dict[str, Any], str, Any]] = []
        for module in self.modules.values():
            space = vars(module)
            for name, value in list(space.items()):
                for original, stand_in in swaps:
                    if value is original:
                        undo.append((space, name, value))
                        space[name] = stand_in
        try:
            yield
        finally:
            for space, name, value in undo:
                space[name] = value

    def is_stub(self, full: str) -> bool:
        """Tell whether an exercise holds nothing yet: a NotImplementedError, or only `pass`."""
        stem, name = full.split(".")
        made = vars(self.load(stem)).get(name)
        if isinstance(made, type):
            made = vars(made).get("__init__")
        return isinstance(made, types.FunctionType) and _is_empty(made.__code__)

    def uses(self, full: str) -> Sequence[str]:
        """List the exercises that an exercise's code names, directly or by way of others."""
        self.load(full.split(".", maxsplit=1)[0])
        return uses(full, self.modules, self.names)

    def owner(self, code: types.CodeType) -> str | None:
        """Return the full name of the exercise whose code this is."""
        stem = self._files.get(code.co_filename)
        return None if stem is None else self._owner_in(stem, code)

    def called(self, file: str) -> str:
        """Return what a student calls a file, or a cell, with code of theirs; "" for others."""
        return Path(file).name if file.startswith(str(self.folder)) else ""

    def _owner_in(self, stem: str, code: types.CodeType) -> str | None:
        for name in self.names.get(stem, ()):
            made = vars(self.modules[stem]).get(name)
            if made is not None and code in _codes(made):
                return f"{stem}.{name}"
        return None

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:  # noqa: ARG002
        """Find a chapter for Python's import."""
        if fullname.split(".", 1)[0] in OFF_LIMITS:
            raise ImportError(f"an answer cannot import `{fullname}`")
        stem = fullname.removeprefix(f"{PACKAGE}.")
        if stem in self.names or (CHAPTER.fullmatch(stem) and self.source(stem) is not None):
            return importlib.util.spec_from_loader(fullname, self)
        return None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        """Return the one module of a chapter, run if it has not been."""
        stem = spec.name.removeprefix(f"{PACKAGE}.")
        if stem in self._broken:
            raise self._broken[stem]
        if stem not in self.modules:
            self._run(stem)
        return self.modules[stem]

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: `create_module` has run it."""

    def _run(self, stem: str) -> None:
        module = types.ModuleType(f"{PACKAGE}.{stem}")
        module.__file__, module.__package__ = str(self.path(stem)), PACKAGE
        self._register(stem, module)
        try:
            chapter = self.chapter(stem)
            if chapter is not None:
                self._execute(stem, chapter, vars(module))
                if "__getattr__" not in vars(module):
                    # who imports what is not there fails only where it is called
                    self._filled.add(stem)
                    module.__getattr__ = self._absent(stem)  # type: ignore[method-assign]
            else:
                module.__getattr__ = self._absent(stem)  # type: ignore[method-assign]
        except KeyboardInterrupt:
            raise
        except BaseException as problem:
            self._forget(stem)
            self._broken[stem] = BrokenFile(stem, problem, self.path(stem).name)
            raise self._broken[stem] from problem

    def _execute(self, stem: str, chapter: Source, space: dict[str, Any]) -> None:
        if chapter.problem:
            raise Unreadable(chapter.problem)
        path = self.path(stem)
        codes = compiled(chapter.text, path)
        self._files.update((code.co_filename, stem) for code in codes)
        with put_back(chapter.name, chapter.text) as self.switched[stem]:
            for code in codes:
                exec(code, space)

    def _absent(self, stem: str) -> Any:
        def missing(name: str) -> Any:
            if name not in self.names.get(stem, ()):
                raise AttributeError(f"module {stem!r} has no attribute {name!r}")

            def absent(*_: object, **__: object) -> None:
                file = "" if stem in self._filled else f"{ABSENT}{stem}{FILE}"
                raise NotImplementedError(f"{stem}.{name}{file}")

            return absent

        return missing

    def _register(self, stem: str, module: types.ModuleType) -> None:
        self.modules[stem] = module
        for name in (stem, f"{PACKAGE}.{stem}"):
            self._cover(name, module)

    def _forget(self, stem: str) -> None:
        del self.modules[stem]
        for file in [file for file, known in self._files.items() if known == stem]:
            del self._files[file]
        for name in (stem, f"{PACKAGE}.{stem}"):
            sys.modules.pop(name, None)

    def _cover(self, name: str, module: types.ModuleType) -> None:
        self._covered.setdefault(name, sys.modules.get(name))
        sys.modules[name] = module

    def _enter(self) -> None:
        package = types.ModuleType(PACKAGE)
        package.__path__ = []
        self._cover(PACKAGE, package)
        for stem in {**self.names, **self.modules}:
            for name in (stem, f"{PACKAGE}.{stem}"):
                if stem in self.modules:
                    self._cover(name, self.modules[stem])
                elif name in sys.modules:  # another world's, which is none of ours
                    self._covered.setdefault(name, sys.modules.pop(name))
        sys.meta_path.insert(0, self)

    def _leave(self) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        for name, before in self._covered.items():
            if before is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = before
        self._covered.clear()


def _is_empty(code: types.CodeType) -> bool:
    """Tell, without running it, whether code raises NotImplementedError or returns None at once."""
    if code.co_names not in ((), ("NotImplementedError",)):
        return False
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("RESUME", "NOP")]
    names = {step.opname.split("_")[0] for step in steps}
    if not names - {"LOAD", "RETURN"}:
        return all(step.argval is None for step in steps)
    busy = names & {"POP", "JUMP", "STORE", "FOR", "COMPARE", "BINARY"}
    return "RAISE" in names and bool(code.co_names) and not busy


def _codes(made: Any) -> list[types.CodeType]:
    members = list(vars(made).values()) if isinstance(made, type) else [made]
    return [member.__code__ for member in members if isinstance(member, types.FunctionType)]
