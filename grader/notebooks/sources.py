"""Where the other chapters of a notebook come from: files and notebooks, whichever is further."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.notebooks.read import chapter_source
from grader.notebooks.started import started


@dataclass(frozen=True)
class Source:
    """A chapter's Python source, and the file that it was read from."""

    file: Path
    text: bytes


def sources(names: Mapping[str, Sequence[str]], folders: Sequence[Path]) -> dict[str, Source]:
    """Find the chapters, each in the file where most of its functions are started.

    Args:
        names: every chapter's stem with the names of its exercises.
        folders: where `ex*.py` and `ex*.ipynb` may lie; of equals the first counts.
    """
    found = {}
    for stem, exercises in names.items():
        candidates = list(_candidates(stem, tuple(exercises), folders))
        if candidates:
            # max keeps the first of equals
            found[stem] = max(candidates, key=lambda one: started(one.text, exercises))
    return found


def _candidates(stem: str, exercises: tuple[str, ...], folders: Sequence[Path]) -> Iterator[Source]:
    for folder in dict.fromkeys(folders):
        for path in (folder / f"{stem}.py", folder / f"{stem}.ipynb"):
            try:
                data = path.read_bytes()
                text = data if path.suffix == ".py" else _of_notebook(data, path.name, exercises)
                yield Source(path, text)
            except (OSError, ValueError):
                continue


@functools.lru_cache(maxsize=64)
def _of_notebook(data: bytes, name: str, exercises: tuple[str, ...]) -> bytes:
    return chapter_source(data, name, exercises)


class Shelf:
    """A folder of our own, where the source of a notebook lies as a file."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kit-")

    def file(self, source: Source) -> Path:
        """Return a file that Python can run and show lines of."""
        if source.file.suffix == ".py":
            return source.file
        path = Path(self._folder.name) / source.file.name
        path.write_bytes(source.text)
        return path
