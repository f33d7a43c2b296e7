"""Programs that are right or wrong on a GPU, as answers: each is put at the end of a solution."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader import places
from grader.chapters import Catalogue, World
from grader.judging.run import Setting, run

DATA = Path(__file__).parent / "data"
SETS = ("", "held_out_", "unseen_")
KINDS = tuple(f"{one}{kind}" for kind in ("mistakes", "right") for one in SETS)
CELL = re.compile(
    r"^# %% (?:(?P<stem>ex\d\d_\w+)\.)?(?P<name>\w+)(?: \[(?P<slips>[\w ]+)\])?: (?P<what>.+)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Program:
    """One way to write an exercise.

    Attributes:
        full: the exercise.
        what: what is odd or wrong about it.
        source: the code.
        slips: which of the known slips it is, where that is written down; or any of several.
    """

    full: str
    what: str
    source: str
    slips: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """The chapter."""
        return self.full.split(".")[0]

    def __str__(self) -> str:
        return f"{self.full}: {self.what}"

    def folder(self, into: Path) -> Path:
        """Write the solutions into a folder, with this program in its place."""
        into.mkdir(parents=True)
        for path in places.SOLUTIONS.glob("ex*.py"):
            text = path.read_text()
            if path.stem == self.stem:
                text = f"{text}\n\n{self.source}\n"
            (into / path.name).write_text(text)
        return into

    def fails(self, known: Catalogue, setting: Setting, about: str = "") -> Iterator[str]:
        """Name the checks of its exercise that it fails; `about` takes those of one kind alone."""
        with tempfile.TemporaryDirectory() as space:
            world = World(self.folder(Path(space) / "answers"), known.names())
            checks = [c for c in known.exercise(self.full).checks if about in ("", c.about)]
            for check in checks:
                with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                    warnings.simplefilter("ignore")
                    passed = run(check, world, setting)[0].passed
                if not passed:
                    yield check.name


def every(kind: str, known: Catalogue) -> Iterator[Program]:
    """Read all programs that are "mistakes", or "right", of the chapters that are there."""
    for one in SETS:
        yield from of_chapters(known, programs(f"{one}{kind}"))


def of_chapters(known: Catalogue, programs: Iterable[Program]) -> Iterator[Program]:
    """Leave out what was written for a chapter that is not there."""
    return (one for one in programs if one.stem in known.names())


def programs(kind: str) -> Iterator[Program]:
    """Read the programs of one of KINDS."""
    for path in sorted(DATA.glob(f"{kind}*.txt")):
        yield from cells(path, path.stem.removeprefix(f"{kind}_"))


def cells(path: Path, stem: str = "") -> Iterator[Program]:
    """Read the programs of a file; `stem` is the chapter of those that name none."""
    text = path.read_text(encoding="utf-8")
    found = list(CELL.finditer(text))
    for at, match in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        source = text[match.end() : end].strip()
        full = f"{match['stem'] or stem}.{match['name']}"
        yield Program(full, match["what"], source, tuple((match["slips"] or "").split()))
