"""Reading a results file for `merge`: a copy of it is opened, so that the file stays as it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.batch import rows
from grader.batch.record import Record
from grader.batch.store import refuse_foreign, sentence
from grader.coding import Decoder
from grader.results import SubmissionResult

if TYPE_CHECKING:
    import sqlite3

# what SQLite keeps beside a file whose writer was killed, or is still at work
BESIDE = ("", "-wal")
TRIES = 5


@dataclass(frozen=True)
class ResultsFile:
    """What a results file holds of one run.

    Attributes:
        path: the file.
        record: how it was graded, and who was in the batch.
        results: by identities, those of the part that are there.
    """

    path: Path
    record: Record
    results: dict[str, SubmissionResult]


def part_in(path: Path) -> ResultsFile | None:
    """Read the last run of a results file; None if none was begun.

    Raises:
        ValueError: the file is none of ours, or damaged; a sentence says so.
        OSError: it cannot be read, or not be copied.
    """
    try:
        import sqlite3
    except ImportError as problem:
        raise ValueError("this Python has no sqlite3, which results files need") from problem
    if not path.is_file():
        raise ValueError(f"there is no results file {path}")
    with tempfile.TemporaryDirectory(prefix="grader-merge-") as folder:
        copy = Path(folder) / "results.db"
        _copy(path, copy)
        try:
            with contextlib.closing(sqlite3.connect(copy)) as connection:
                refuse_foreign(connection, path)
                return _read(connection, path)
        except sqlite3.Error as problem:
            raise ValueError(sentence(path, str(problem))) from problem


def _read(connection: sqlite3.Connection, path: Path) -> ResultsFile | None:
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return None
    row = connection.execute("SELECT said FROM record").fetchone()
    if row is None:
        return None
    record = rows.to_record(row[0])
    found = dict(_outcomes(connection))
    if record is None or None in found.values():
        raise ValueError(f"{path} was written by another state of the grader: use that one")
    wanted = set(record.wanted)
    results = {name: one for name, one in found.items() if one is not None and name in wanted}
    return ResultsFile(path, record, results)


def _outcomes(connection: sqlite3.Connection) -> Iterator[tuple[str, SubmissionResult | None]]:
    decoder = Decoder()
    for identity, data in connection.execute("SELECT submission, said FROM outcome"):
        yield str(identity), rows.to_outcome(data, decoder)


def _copy(path: Path, to: Path) -> None:
    """Copy a database at a moment at which nobody writes to it."""
    for _ in range(TRIES):
        before = _states(path)
        for ending in BESIDE:
            to.with_name(to.name + ending).unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{ending}", f"{to}{ending}")
        if _states(path) == before:
            return
    raise ValueError(sentence(path, "locked"))


def _states(path: Path) -> list[tuple[int, int] | None]:
    states: list[tuple[int, int] | None] = []
    for ending in BESIDE:
        try:
            state = os.stat(f"{path}{ending}")
            states.append((state.st_size, state.st_mtime_ns))
        except FileNotFoundError:
            states.append(None)
    return states
