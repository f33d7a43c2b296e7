"""The results database: one SQLite file that a killed run leaves whole and the next takes up.

Each result is written, and on the disk, before its submission counts as done. While a run lasts
the file is locked: two runs on one file would fight over its seed. Besides the results of checks,
by which the next run knows what has not changed, it holds the last run as a whole, for `merge`.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from grader.batch import rows
from grader.batch.plan import new_seed
from grader.batch.record import Record
from grader.batch.shard import Shard
from grader.results import CheckResult, SubmissionResult

if TYPE_CHECKING:
    import sqlite3

# tells our files from other programs' and from those of other versions
APPLICATION, VERSION = 0x41747447, 5
TABLES = """
CREATE TABLE IF NOT EXISTS run (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), seed TEXT);
CREATE TABLE IF NOT EXISTS told (seed TEXT PRIMARY KEY, times INTEGER);
CREATE TABLE IF NOT EXISTS result (
    submission TEXT, way TEXT, content TEXT, seed TEXT, checks TEXT,
    PRIMARY KEY (submission, way, content)
);
CREATE TABLE IF NOT EXISTS record (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), said TEXT);
CREATE TABLE IF NOT EXISTS outcome (submission TEXT PRIMARY KEY, said BLOB);
"""
WAIT = 2.0


class Store:
    """Results by submission, by the content of its files and by the way of grading."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self._lock = connection, threading.Lock()
        self.problem: str | None = None

    def seed(self, asked: int | None) -> tuple[int, bool]:
        """Return the seed to use, and whether it is an earlier run's: so that both agree."""
        earlier = self.earlier_seed() if asked is None else None
        if earlier is not None:
            return earlier, True
        seed = new_seed() if asked is None else asked
        self._connection.execute("INSERT OR REPLACE INTO run VALUES (1, ?)", (str(seed),))
        return seed, False

    def earlier_seed(self) -> int | None:
        """Return the seed of the last run, if there was one."""
        row = self._connection.execute("SELECT seed FROM run").fetchone()
        is_seed = row is not None and re.fullmatch(r"-?\d{1,40}", str(row[0]))
        return int(row[0]) if is_seed else None

    def refuse_another(self, shard: Shard) -> None:
        """Raise ValueError if the file holds another part of as many: it would be lost."""
        row = self._connection.execute("SELECT said FROM record").fetchone()
        last = rows.to_record(row[0]) if row else None
        if last is not None and last.shard.of == shard.of and last.shard != shard:
            raise ValueError(f"the results file holds {last.shard}: give {shard} one of its own")

    def begin(self, record: Record) -> None:
        """Note what is going to be run, in the place of the last run."""
        said = (rows.of_record(record),)
        with self._lock, self._noting():
            self._connection.execute("DELETE FROM outcome")
            self._connection.execute("INSERT OR REPLACE INTO record VALUES (1, ?)", said)

    def add(self, result: SubmissionResult) -> None:
        """Note what has come of a submission of the run, whatever it is."""
        row = (result.identity, rows.of_outcome(result))
        with self._lock, self._noting():
            self._connection.execute("INSERT OR REPLACE INTO outcome VALUES (?, ?)", row)

    def told(self, seed: int) -> int:
        """Return how many runs with this seed have graded something and come to their ends."""
        asks = "SELECT times FROM told WHERE seed = ?"
        with self._lock, self._noting():
            row = self._connection.execute(asks, (str(seed),)).fetchone()
            return int(row[0]) if row else 0
        return 0

    def tell(self, seed: int) -> None:
        """Note that such a run has come to its end: students may know of its inputs now."""
        adds = "INSERT INTO told VALUES (?, 1) ON CONFLICT (seed) DO UPDATE SET times = times + 1"
        with self._lock, self._noting():
            self._connection.execute(adds, (str(seed),))

    def find(self, submission: str, content: str, way: str) -> dict[str, list[CheckResult]] | None:
        """Return the results of each exercise's checks, if they are there and make sense."""
        asks = "SELECT checks FROM result WHERE submission = ? AND way = ? AND content = ?"
        with self._lock, self._noting():
            row = self._connection.execute(asks, (submission, way, content)).fetchone()
            return rows.to_checks(row[0]) if row else None
        return None

    def graded_with(self, submission: str, seed: int) -> str | None:
        """Return the content of which a submission has results with this seed, if it has any."""
        asks = "SELECT content FROM result WHERE submission = ? AND seed = ?"
        with self._lock, self._noting():
            row = self._connection.execute(asks, (submission, str(seed))).fetchone()
            return str(row[0]) if row else None
        return None

    def keep(
        self,
        submission: str,
        content: str,
        way: str,
        seed: int,
        found: Mapping[str, list[CheckResult]],
    ) -> None:
        """Keep the results of each exercise's checks, in the place of older ones."""
        row = (submission, way, content, str(seed), rows.of_checks(found))
        with self._lock, self._noting():
            self._connection.execute("INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?, ?)", row)

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """A full disk costs the keeping, not the grading."""
        import sqlite3

        try:
            yield
        except sqlite3.Error as problem:
            self.problem = self.problem or str(problem)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Open a results database, or begin one, and lock it.

    Raises:
        ValueError: the file is none of ours, broken, or in use; a sentence says which.
    """
    try:
        import sqlite3
    except ImportError as problem:
        raise ValueError("this Python has no sqlite3, which --results needs") from problem
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"results cannot be kept in {path}: no such folder, or a folder")
    try:
        connection = sqlite3.connect(
            path, timeout=WAIT, isolation_level=None, check_same_thread=False
        )
        with contextlib.closing(connection):
            _prepare(connection, path)
            yield Store(connection)
    except sqlite3.Error as problem:
        raise ValueError(sentence(path, str(problem))) from problem


def refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    """Look whether a database is the grader's own, whole, and of this version.

    Raises:
        ValueError: it is not; a sentence says why.
        sqlite3.Error: it is no database at all, or a damaged one.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION:
        raise ValueError(f"{path} is another program's database: give another file")
    if tables and version != VERSION:
        raise ValueError(f"{path} is from another version of the grader: give a new file")
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise ValueError(sentence(path, "malformed"))


def sentence(path: Path, problem: str) -> str:
    """Say what SQLite says in words that help."""
    if "locked" in problem:
        return f"{path} is in use: another grader is still running on it"
    if "not a database" in problem or "malformed" in problem:
        return f"{path} is no results database, or a damaged one: give another file"
    return f"results cannot be kept in {path}: {problem}"


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    refuse_foreign(connection, path)
    # one writer, which keeps its lock; what is committed outlives a kill at any moment
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(
        f"BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; "
        f"PRAGMA user_version = {VERSION}; {TABLES} COMMIT;"
    )
