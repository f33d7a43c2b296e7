"""Finding submissions: which folders and archives there are, and what each is called."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.batch import folders
from grader.batch.names import own_names
from grader.batch.reading import ARCHIVES, OTHER_ARCHIVES, is_archive, read
from grader.batch.sources import Unusable


@dataclass(frozen=True)
class Submission:
    """One submission: a folder or an archive, with a name of its own."""

    identity: str
    path: Path
    given: bool = True

    def files(self) -> dict[str, bytes]:
        """Read the sources of its chapters, by names that end in `.py`.

        Raises:
            Unusable: there is no `ex*.py`, or it is not clear which, or one cannot be read.
        """
        if self.path.is_symlink() and not self.given:
            raise Unusable("it is a link, and links are not followed: give the place it leads to")
        return read(self.path)


def find(paths: Iterable[Path]) -> list[Submission]:
    """List the submissions that the paths mean, in order, each with a name of its own.

    Raises:
        FileNotFoundError: a path is not there.
        ValueError: a file is no archive, or a folder cannot be looked into.
    """
    given: dict[Path, bool] = {}  # the same path twice is one submission
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        if path.is_file() and not is_archive(path):
            raise ValueError(f"{path} is neither a folder nor a .zip or .tar.gz")
        whole = Path(os.path.abspath(path))  # not resolved: a link keeps its own name
        students = _students(whole)
        for student in students or [whole]:
            given[student] = given.get(student, False) or not students
    places = list(given)
    names = own_names(places, _stem)
    return [Submission(n, p, given[p]) for n, p in zip(names, places, strict=True)]


def _students(path: Path) -> list[Path]:
    """List the submissions in a folder of them; none if the path is itself one."""
    try:
        if path.is_file() or folders.holds_chapters(path):
            return []
        return sorted(entry for entry in path.iterdir() if _may_be_one(entry))
    except PermissionError as problem:
        raise ValueError(f"{path} cannot be read: {problem.strerror}") from problem


def _may_be_one(entry: Path) -> bool:
    if entry.name.startswith((".", "__")):
        return False
    # an archive of a kind that is not opened is somebody's submission, too, and gets a sentence
    return entry.is_dir() or entry.name.lower().endswith(ARCHIVES + OTHER_ARCHIVES)


def _stem(path: Path) -> str:
    name = path.name.lower()
    ending = next((end for end in ARCHIVES + OTHER_ARCHIVES if name.endswith(end)), "")
    return path.name[: len(path.name) - len(ending)] or str(path)
