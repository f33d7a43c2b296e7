"""Finding submissions: which folders and archives there are, and what each is called."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath

from grader.batch import versions
from grader.batch.entries import look_into
from grader.batch.names import own_names, printable
from grader.batch.reader import SubmissionReader
from grader.batch.sources import Told, Unusable
from grader.batch.uploads import ARCHIVES, OTHER_ARCHIVES, Loose, is_archive


@dataclass(frozen=True)
class Submission:
    """One submission.

    Attributes:
        identity: a name of its own.
        path: a folder or an archive; of loose files, where a folder of theirs would be.
        problem: why it is not even opened, or nothing.
        loose: loose files, if it is these.
        notes: what is to be said of it.
        unused: the names of what else was handed in, and does not count.
        version_of: what a student's submission is called of which this is one version.
    """

    identity: str
    path: Path
    problem: str = ""
    loose: Loose | None = None
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    version_of: str = ""

    @property
    def came_as(self) -> tuple[str, ...]:
        """The name of its folder or its archive, or those of its loose files."""
        paths = [self.path] if self.loose is None else [path for _, path in self.loose.files]
        return tuple(printable(path.name) for path in paths)

    def files(
        self,
        reader: SubmissionReader | None = None,
        told: Told | None = None,
    ) -> dict[str, bytes]:
        """Read the sources of its chapters, by names that end in `.py`.

        Args:
            reader: reads one submission after the other; None for one that reads only this.
            told: is told of files that count under another name, or do not count.

        Raises:
            Unusable: there is no `ex*.py`, or it is not clear which, or one cannot be read.
        """
        if self.problem:
            raise Unusable(self.problem)
        if told is not None:
            told.notes += self.notes
            told.leave(self.unused)
            for sentence, names in versions.told(self.loose or Loose(())):
                told.note(sentence, names)
        if reader is not None:
            return reader.read(self.loose or self.path, told)
        with SubmissionReader() as own:
            return own.read(self.loose or self.path, told)

    def held(self, reader: SubmissionReader) -> list[str]:
        """List the names of what was handed in, as far as that can be told."""
        return reader.held(self.loose or self.path)


def find(
    paths: Iterable[Path],
    told: Told | None = None,
    own: Collection[Path] = (),
    *,
    one: bool = False,
) -> list[Submission]:
    """List the submissions that the paths mean, in order, each with a name of its own.

    Args:
        paths: submissions, and folders of submissions.
        told: is told of what is passed over.
        own: the command's own files, which are nobody's work wherever they lie.
        one: whether it is known to be one student's.

    Raises:
        FileNotFoundError: a path is not there.
        ValueError: a file is no archive.
    """
    problems: dict[Path, str] = {}  # the same path twice is one submission
    loose: dict[Path, Loose] = {}
    beside: dict[Path, tuple[str, ...]] = {}
    told = told or Told()
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no {path}")
        if path.is_file() and not is_archive(path):
            raise ValueError(f"{path} is neither a folder nor a .zip or .tar.gz")
        whole = Path(os.path.abspath(path))  # not resolved: a link keeps its own name
        inside = look_into(whole, _can_be_read, one=one)
        inside.tell(whole, told, own)
        # what was given itself is taken, whatever it is called and wherever it lies
        for place, problem in sorted((inside.submissions or {whole: ""}).items()):
            problems[place] = problem and problems.get(place, problem)
        loose |= inside.loose
        beside |= inside.beside
    names = own_names(list(problems), stem)
    return [
        Submission(name, path, problem, loose.get(path), unused=beside.get(path, ()))
        for name, (path, problem) in zip(names, problems.items(), strict=True)
    ]


def _can_be_read(path: Path) -> bool:
    try:
        return bool(Submission(path.name, path).files())
    except Exception:  # whatever it is, it is told where the submission is graded
        return False


def stem(path: PurePath) -> str:
    """Return what a submission is called, without the ending of an archive."""
    name = path.name.lower()
    ending = next((end for end in ARCHIVES + OTHER_ARCHIVES if name.endswith(end)), "")
    return path.name[: len(path.name) - len(ending)] or str(path)
