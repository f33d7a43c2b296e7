"""What the author of a chapter got wrong, with the file and the line where it stands."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path

from grader.places import short


class ChapterError(ValueError):
    """The files of a chapter do not go together.

    Args:
        path: the file to mend.
        line: where, counted from 1; 0 if it is about the file as a whole.
        says: what is wrong, and what to do.
    """

    def __init__(self, path: Path, line: int, says: str) -> None:
        # as they are, so that another process can hand it on
        super().__init__(path, line, says)

    def __str__(self) -> str:
        """Write the place, and what is wrong."""
        path, line, says = self.args
        return f"{located(path, line)}: {says}"


def located(path: Path, line: int) -> str:
    """Write a place: `tests/test_ex04_softmax.py, line 12`."""
    return f"{short(path)}, line {line}" if line else short(path)


def line_of(path: Path, text: str) -> int:
    """Return the first line of a file that holds a text; 0 if none does."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return next((number for number, line in enumerate(lines, 1) if text in line), 0)


def defined_at(path: Path, name: str) -> str:
    """Write the place where a file defines a function or a class."""
    heads = (f"def {name}(", f"class {name}(", f"class {name}:")
    return located(path, next(filter(None, (line_of(path, head) for head in heads)), 0))


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say where a file of a chapter stops while it is imported.

    Raises:
        ChapterError: it does.
    """
    try:
        yield
    except ChapterError:
        raise
    except SyntaxError as problem:
        says = f"this is not Python: {problem.msg}"
        raise ChapterError(Path(problem.filename or path), problem.lineno or 0, says) from problem
    except Exception as problem:
        steps = traceback.extract_tb(problem.__traceback__)
        line = next((s.lineno or 0 for s in reversed(steps) if s.filename == str(path)), 0)
        line = getattr(problem, "line", line)
        said = str(problem) if isinstance(problem, ValueError) else ""
        says = said or f"it stops while it is imported: {type(problem).__name__}: {problem}"
        raise ChapterError(path, line, says) from problem
