"""What a chapter does that `grade` refuses, noticed while it runs beside the suites.

Python tells of each file, program and socket (`sys.addaudithook`). What counts is what a line of a
chapter asks for, not what a library does of its own accord.
"""

from __future__ import annotations

import contextlib
import dis
import os
import re
import sys
import tempfile
import time
import types
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from grader.written.cells import compiled
from grader.written.source import Source

_KIT = "grader"
_ALONE = "`grade` runs chapters without the files beside them"
_LISTS = f"lists the files of {{}}: {_ALONE}: write what you need of them into the chapter"
_OPENS = f"opens {{}}: {_ALONE}: put what it holds into the chapter"
_IMPORTS = f"imports {{}}: {_ALONE}: move what you need into the chapter"
_IMPORTS_KIT = (
    "imports {}: `grade` keeps the kit out of reach: move what you need of it into the chapter"
)
_WRITES = "writes {}: `grade` lets a chapter write only to the temporary folder: use `tempfile`"
_PROGRAM = "starts another process: `grade` refuses that: do the work in the chapter itself"
_NET = "opens a socket: `grade` has no network: put what comes from there into the chapter"
_LOCK = "makes a lock between processes: `grade` has none: do without multiprocessing"
_PLAIN = {
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"), _PROGRAM),
    **dict.fromkeys(("os.spawn", "os.startfile", "os.fork", "os.forkpty"), _PROGRAM),
    **dict.fromkeys(("socket.__new__", "socket.getaddrinfo"), _NET),
}
_LISTING = ("os.listdir", "os.scandir")
_EVENTS = frozenset((*_PLAIN, *_LISTING, "open", "sqlite3.connect", "import"))
# what stands between a line of a chapter and that for which it calls them
_CARRIERS = re.compile(
    r"(codecs|io|pathlib|gzip|bz2|lzma|zipfile|tarfile|shutil|configparser|numpy|pandas|torch"
    r"|subprocess|os|pty|multiprocessing|concurrent|asyncio|socket|ssl|http|urllib"
    r"|urllib3|requests|runpy|pkgutil|fileinput|linecache|tokenize|glob|sqlite3"
    r")(\.|$)|importlib(\._bootstrap\w*)?$"
)
_PACKAGES = re.compile(r"[\\/](site|dist)-packages[\\/]")


class Refused:
    """Collects the lines of chapters that do what `grade` refuses.

    Args:
        folder: the chapters'.
        chapters: the names of the files that they were imported from; it may still grow.
    """

    def __init__(self, folder: Path, chapters: Container[str]) -> None:
        self._folder, self._chapters = _real(folder), chapters
        self._notes: dict[tuple[str, int], str] = {}
        self._written: set[str] = set()
        self._on = True
        python = (sys.prefix, sys.base_prefix, sys.exec_prefix)
        self._there = tuple(map(_real, (*python, "/proc", "/sys", "/dev", os.devnull)))
        self._kit = _real(Path(__file__).parents[1])
        self._temporary, self._began = (_real(tempfile.gettempdir()),), time.time()

        # Python tells of much more, and a bound method would cost five times as much each time
        def hear(event: str, args: tuple[Any, ...]) -> None:
            if self._on and event in _EVENTS:
                self._heard(event, args, sys._getframe(1))

        sys.addaudithook(hear)

    def told(self) -> list[str]:
        """Return the sentences that have not been told yet."""
        new = [note for note in self._notes.values() if note]
        self._notes = dict.fromkeys(self._notes, "")
        return new

    def end(self) -> None:
        """Hear nothing more; Python keeps the hook for good."""
        self._on = False

    def _heard(self, event: str, args: tuple[Any, ...], frame: types.FrameType) -> None:
        # an error in here would be raised in the chapter
        with contextlib.suppress(Exception):
            self._note(event, args, frame)

    def _note(self, event: str, args: tuple[Any, ...], frame: types.FrameType) -> None:
        asked = self._asked_for(frame)
        if asked is None or asked in self._notes:
            return
        if event == "open":
            does = self._opened(frame, *args)
        elif event == "sqlite3.connect":
            does = self._connected(frame, *args)
        elif event in _LISTING:
            does = self._listed(frame, *args)
        else:
            does = _does(event, args, frame)
        if does:
            self._notes[asked] = f"{Path(asked[0]).name}, line {asked[1]}, {does}"

    def _asked_for(self, frame: types.FrameType | None) -> tuple[str, int] | None:
        """Return the file and line of a chapter that asks for what happens, if one does."""
        while frame is not None and frame.f_code.co_filename not in self._chapters:
            if not _CARRIERS.match(frame.f_globals.get("__name__", "")):
                return None
            frame = frame.f_back
        return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)

    def _opened(
        self, frame: types.FrameType, path: object, mode: str | None, flags: int
    ) -> str | None:
        if not isinstance(path, str | bytes | os.PathLike):
            return None
        given = os.fsdecode(path)
        real, name = _real(given), Path(given).name
        if self._has(real):
            return None
        writes = flags & (os.O_WRONLY | os.O_RDWR) or any(sign in (mode or "") for sign in "wax+")
        if writes:
            self._written.add(real)
            # a path that is not absolute leads to the temporary folder there
            here = _within(real, (_real("."), *self._temporary))
            here = here and not _within(real, (self._folder,))
            return None if here or not os.path.isabs(given) else _WRITES.format(name)
        if real in self._written or not os.path.isfile(real):
            return None
        imports = frame.f_globals.get("__name__") == "importlib._bootstrap_external"
        if imports and _within(real, (self._kit,)):
            return None  # `kit_imported` says so
        return (_IMPORTS if imports else _OPENS).format(_source(name) if imports else name)

    def _connected(self, frame: types.FrameType, path: object) -> str | None:
        # of no absolute path it is made in the temporary folder there
        absolute = isinstance(path, str | bytes | os.PathLike) and os.path.isabs(os.fsdecode(path))
        return self._opened(frame, path, None, 0) if absolute else None

    def _listed(self, frame: types.FrameType, path: object = None) -> str | None:
        imports = frame.f_globals.get("__name__", "").startswith("importlib.")
        if imports or not isinstance(path, str | bytes | os.PathLike):
            return None
        given = os.fsdecode(path)
        real = _real(given)
        # a folder of no absolute path is an empty one there
        there = not os.path.isabs(given) and not _within(real, (self._folder,))
        return None if there or self._has(real) else _LISTS.format(Path(real).name)

    def _has(self, real: str) -> bool:
        """Tell whether a file is to be had in `grade` as well."""
        if _within(real, (self._folder,)):
            return False  # chapters, too, are held in memory there
        if _within(real, self._there) or _PACKAGES.search(real):
            return True
        # of the temporary folder not what was there before the chapters ran
        fresh = not os.path.isfile(real) or os.stat(real).st_mtime > self._began
        return fresh and _within(real, self._temporary)


def kit_imported(chapter: Source, path: Path) -> list[str]:
    """Say where a chapter imports the kit: Python tells nobody of what has been imported before.

    Args:
        chapter: the source.
        path: of the file that it was read from.
    """
    if chapter.problem or not re.search(rb"\b(from|import)\s[^#\n]*\bgrader\b", chapter.text):
        return []
    try:
        codes = compiled(chapter.text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # as its import does
        return []
    return [
        f"{Path(file).name}, line {line}, {_IMPORTS_KIT.format(module)}"
        for code in codes
        for file, line, module in _imports(code)
        if module.split(".", 1)[0] == _KIT
    ]


def _imports(code: types.CodeType) -> Iterator[tuple[str, int, str]]:
    lines, line = dict(dis.findlinestarts(code)), code.co_firstlineno
    for step in dis.get_instructions(code):
        line = lines.get(step.offset) or line
        if step.opname == "IMPORT_NAME":
            yield code.co_filename, line, step.argval
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _imports(inner)


def _does(event: str, args: tuple[Any, ...], frame: types.FrameType) -> str | None:
    if event == "import":
        # the first lock that is made imports what makes them
        makes = args[0] == "multiprocessing.synchronize" and frame.f_code.co_name != "<module>"
        return _LOCK if makes else None
    return _PLAIN.get(event)


def _source(name: str) -> str:
    """Return the name of the file that a compiled one was made of."""
    return f"{name.split('.', 1)[0]}.py" if name.endswith(".pyc") else name


def _real(path: str | Path) -> str:
    return os.path.normcase(os.path.realpath(path))


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + os.sep) for folder in folders)
