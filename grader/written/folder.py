"""A folder of answers: for each chapter the file or the notebook that counts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from grader.written.source import (
    FILE,
    LARGEST,
    NOTEBOOK,
    Source,
    functions_of,
    is_of_notebook,
    twice,
)


class Folder:
    """The chapters of a folder, as they are at the moment of each question.

    Args:
        path: of the folder; it may hold files, notebooks or both, and need not hold all chapters.
        names: every chapter's stem with the names of its exercises.
    """

    def __init__(self, path: Path, names: Mapping[str, Sequence[str]]) -> None:
        self.path, self.names = path, names

    def source(self, stem: str) -> Source | None:
        """Return what counts of a chapter; None if there is nothing."""
        script, notebook = self.path / (stem + FILE), self.path / (stem + NOTEBOOK)
        at = script
        try:
            text = script.read_bytes() if script.is_file() else None
            if not notebook.is_file():
                return None if text is None else Source(script.name, text)
            at = notebook
            return _chosen(stem, text, _read(notebook), self._functions(stem))
        except OSError as problem:
            says = f"{at.name} cannot be read: {problem.strerror or problem}"
            return Source(at.name, problem=says)

    def text(self, stem: str) -> bytes:
        """Return the Python of a chapter; nothing, if there is none to be had."""
        found = self.source(stem)
        return found.text if found is not None else b""

    def file(self, stem: str) -> Path:
        """Return where a chapter lies; where it would lie, if it is not there."""
        found = self.source(stem)
        return self.path / (found.name if found is not None else stem + FILE)

    def notebook(self, stem: str) -> bytes:
        """Return the Python of a chapter's notebook, or why there is none, counted or not."""
        try:
            data = _read(self.path / (stem + NOTEBOOK))
        except OSError:
            return b""
        found = _chosen(stem, None, data, self._functions(stem))
        return found.text or found.problem.encode()

    def notes(self, stems: Iterable[str]) -> list[str]:
        """Say which of two counts, where both were started: files, or cells of a notebook."""
        said = []
        for one in filter(None, map(self.source, stems)):
            said += [one.note] if one.note else []
            said += [f"{one.name}: {says}" for says in twice(one.text)]
        return said

    def has_begun(self, stem: str) -> bool:
        """Tell whether something of a chapter is written, or wrong with its file."""
        found = self.source(stem)
        if found is None:
            return False
        from grader.written.started import started

        return bool(found.problem) or bool(started(found.text, self._functions(stem)))

    def to_go_on(self, stem: str) -> Source | None:
        """Return where a student goes on: of two that are not begun, where the others count."""
        found, notebook = self.source(stem), self.path / (stem + NOTEBOOK)
        if found is None or found.name == notebook.name or not notebook.is_file():
            return found
        from grader.written.started import started

        begun = started(found.text, self._functions(stem))
        if begun or not any(is_of_notebook(self.text(other)) for other in self.names):
            return found
        untouched = _chosen(stem, None, _read(notebook), self._functions(stem))
        return found if untouched.problem else untouched

    def _functions(self, stem: str) -> tuple[str, ...]:
        return tuple(functions_of(stem, self.names))


def _read(notebook: Path) -> bytes:
    with notebook.open("rb") as file:
        return file.read(LARGEST + 1)


# the next step, the verdict and the notes ask for the same
@functools.lru_cache(maxsize=16)
def _chosen(stem: str, script: bytes | None, notebook: bytes, exercises: tuple[str, ...]) -> Source:
    from grader.written.counts import the_one_that_counts  # only where there is a notebook

    return the_one_that_counts(stem, script, notebook, exercises)
