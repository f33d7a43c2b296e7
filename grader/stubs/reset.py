"""Putting stubs back into a student's folder; what was there is kept in a file of its own."""

from __future__ import annotations

import ast
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from grader import places
from grader.stubs.pristine import Pristine, PristineChapter
from grader.stubs.splice import splice
from grader.stubs.text import DEFINITION, lines_of, newline_of
from grader.written.folder import Folder
from grader.written.source import FILE, NOTEBOOK

KEPT = "kept"
DOCSTRING = re.compile(rb'(?:#[^\n]*\n)*"""(?:.*?)"""[ \t]*\r?\n', re.DOTALL)


@dataclass(frozen=True)
class ResetResult:
    """What a reset did.

    Attributes:
        path: the student's file.
        kept: where the old answer lies now; None if there was none, or nothing had to be done.
        changed: whether the file was written.
        whole: whether it was the whole file.
        again: where the name gets another meaning, if it does.
        text_lost: whether the text at the chapter's top could not be put back.
        now: the file that counts now, if it is another one.
    """

    path: Path
    kept: Path | None = None
    changed: bool = True
    whole: bool = False
    again: str = ""
    text_lost: bool = False
    now: str = ""

    def lines(self, name: str) -> list[str]:
        """Say what was done with the function or chapter called so."""
        what = self.path.name if self.whole else name
        if not self.changed:
            said = [f"{what} is as it was at first already: nothing was changed"]
        elif self.whole and self.path.suffix == NOTEBOOK:
            said = [f"the functions in {places.short(self.path)} are as they were at first"]
        elif self.whole:
            said = [f"{places.short(self.path)} is as it was at first"]
        else:
            said = [f"{what} is as it was at first, in {places.short(self.path)}"]
        if self.kept:
            said.append(f"what was there is kept in {places.short(self.kept)}")
        if self.again:
            said.append(f"but {self.again} gives the name another meaning: remove that")
        if self.text_lost:
            said.append("the chapter's text at its top is lost: take it from a fresh copy")
        if self.changed and self.path.suffix == NOTEBOOK:
            said.append("if it is open in Jupyter, reload it there, or its next save undoes this")
        if self.now:
            said.append(f"{self.now} counts from now on: more is started in it")
        return said


def reset(pristine: Pristine, answers: Path, stem: str, name: str | None) -> ResetResult:
    """Put back one stub, or with no name the whole chapter.

    Args:
        pristine: the stubs.
        answers: the student's folder.
        stem: the chapter.
        name: the function, or None.

    Raises:
        BrokenTextError: the file does not parse, so that the function cannot be found in it.
        Unreadable: the notebook is none, so that the function cannot be found in it.
        OSError: the file cannot be read or written.
    """
    folder = Folder(answers, pristine.names())
    source = folder.to_go_on(stem)
    if source is not None and source.name.endswith(NOTEBOOK):
        if name is None and source.problem:
            return _instead_of(answers / source.name, pristine.chapters[stem])
        done = _in_notebook(pristine.chapters[stem], answers / source.name, name)
    else:
        done = _in_file(pristine.chapters[stem], answers / f"{stem}.py", name)
    from grader.written.started import started

    now = folder.source(stem)
    if now is None or now.name == done.path.name or not started(now.text, folder.names[stem]):
        return done
    return replace(done, now=now.name)


def _instead_of(notebook: Path, chapter: PristineChapter) -> ResetResult:
    """Put a notebook that cannot be read away, and the chapter's file in its place."""
    kept = _keep(notebook.parent, notebook.stem, notebook.read_bytes(), NOTEBOOK)
    notebook.unlink()
    done = _in_file(chapter, notebook.with_suffix(FILE), None)
    return replace(done, kept=kept, changed=True)


def _in_file(chapter: PristineChapter, path: Path, name: str | None) -> ResetResult:
    answers, stem = path.parent, path.stem
    data = path.read_bytes() if path.exists() else None
    if name is None or data is None:
        return _whole(chapter, path, data, stem)
    done = splice(data, name, chapter.functions[name], list(chapter.functions))
    if done.data == data:
        return ResetResult(path, changed=False, again=done.again)
    kept = _keep(answers, name, done.old) if done.old else None
    _write(path, done.data)
    return ResetResult(path, kept, again=done.again)


def _in_notebook(chapter: PristineChapter, path: Path, name: str | None) -> ResetResult:
    from grader.stubs.notebook import put_back  # it reads notebooks

    data, order, again, old = path.read_bytes(), list(chapter.functions), "", b""
    new = data
    for one in order if name is None else [name]:
        put = put_back(new, path.name, one, chapter.functions[one], order)
        new, old, again = put.data, put.old, again or put.again
    if new == data:
        return ResetResult(path, changed=False, whole=name is None, again=again)
    if name is None:
        kept: Path | None = _keep(path.parent, path.stem, data, NOTEBOOK)
    else:
        kept = _keep(path.parent, name, old) if old else None
    _write(path, new)
    return ResetResult(path, kept, whole=name is None, again=again)


def _whole(chapter: PristineChapter, path: Path, data: bytes | None, stem: str) -> ResetResult:
    head = None if chapter.whole else _head(data or b"", chapter)
    new = chapter.file(head)
    if data is not None:
        new = new.replace(b"\r\n", b"\n").replace(b"\n", newline_of(data))
    if new == data:
        return ResetResult(path, changed=False, whole=True)
    kept = _keep(path.parent, stem, data) if data else None
    _write(path, new)
    lost = not chapter.whole and not DOCSTRING.match(new)
    return ResetResult(path, kept, whole=True, text_lost=lost)


def _head(data: bytes, chapter: PristineChapter) -> bytes | None:
    """Take what stands above the first function from the student's file, as far as it is sound."""
    lines = lines_of(data)
    edge = (at for at, line in enumerate(lines) if DEFINITION.match(line) or line[:1] == b"@")
    above = b"".join(lines[: next(edge, len(lines))])
    if DOCSTRING.match(above) and chapter.head in above.replace(b"\r\n", b"\n") and _parses(above):
        return above.rstrip() + b"\n"
    text = DOCSTRING.match(data)
    return text.group().rstrip() + b"\n\n" + chapter.head if text else None


def _parses(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return True


def _keep(answers: Path, name: str, old: bytes, suffix: str = FILE) -> Path:
    """Write the old answer under the next number; nothing that is kept is ever overwritten."""
    folder = answers / KEPT
    folder.mkdir(exist_ok=True)
    numbers = [path.name.split(".")[-2] for path in folder.glob(f"{name}.*{suffix}")]
    number = max((int(said) for said in numbers if said.isdigit()), default=0)
    while True:
        number += 1
        path = folder / f"{name}.{number}{suffix}"
        try:
            with path.open("xb") as file:
                file.write(old)
        except FileExistsError:
            continue
        return path


def _write(path: Path, data: bytes) -> None:
    """Replace a file in one go, so that no half of it is ever seen."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if path.exists():
            shutil.copymode(path, name)
        else:
            os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise
