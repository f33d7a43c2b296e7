"""A CSV file of which single cells change: all else stays byte for byte as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DELIMITERS = ",;\t"


@dataclass(frozen=True)
class SheetCell:
    """A cell: its value, and where it stands in the text with its quotes."""

    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Sheet:
    """A CSV file as text and cells.

    Attributes:
        text: the whole file.
        codec: how it is encoded.
        delimiter: between cells.
        rows: the cells; blank lines are left out.
    """

    text: str
    codec: str
    delimiter: str
    rows: tuple[tuple[SheetCell, ...], ...]

    @property
    def header(self) -> list[str]:
        """The titles of the columns."""
        return [cell.value.strip() for cell in self.rows[0]]

    def value(self, row: int, column: int | None) -> str:
        """Return a cell's value; empty where there is no such cell."""
        cells = self.rows[row]
        return cells[column].value.strip() if column is not None and column < len(cells) else ""

    def line(self, row: int) -> int:
        """Return the line of the file that a row begins on, from 1."""
        return len(re.findall(r"\r\n|\n|\r", self.text[: self.rows[row][0].start])) + 1

    def changed(self, values: dict[tuple[int, int], str]) -> bytes:
        """Return the file with new values in some cells, by row and column."""
        text = self.text
        for (row, column), value in sorted(values.items(), reverse=True):
            cell = self.rows[row][column]
            text = text[: cell.start] + self._quoted(value, cell) + text[cell.end :]
        return text.encode(self.codec)

    def _quoted(self, value: str, old: SheetCell) -> str:
        quoted = self.text[old.start : old.start + 1] == '"'
        quotes = quoted or any(mark in value for mark in (self.delimiter, '"', "\n", "\r"))
        return '"{}"'.format(value.replace('"', '""')) if quotes else value


def read(path: Path) -> Sheet:
    """Read a CSV file, whatever its encoding and its delimiter.

    Raises:
        OSError: it cannot be read.
        ValueError: it is empty.
    """
    data = path.read_bytes()
    codec = _codec(data)
    text = data.decode(codec)
    delimiter = max(DELIMITERS, key=text.split("\n", 1)[0].count)
    rows = _rows(text, delimiter)
    if not rows:
        raise ValueError(f"{path} is empty")
    return Sheet(text, codec, delimiter, rows)


def _codec(data: bytes) -> str:
    # never "utf-8-sig": the mark at the front stays a part of the text
    marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
    tried = [marks[data[:2]]] if data[:2] in marks else ["utf-8", "cp1252"]
    for codec in tried:
        try:
            data.decode(codec)
        except UnicodeDecodeError:
            continue
        return codec
    return "latin-1"


def _rows(text: str, delimiter: str) -> tuple[tuple[SheetCell, ...], ...]:
    pattern = re.compile(rf'((?:"(?:[^"]|"")*")?[^{delimiter}\r\n]*)({delimiter}|\r\n|\n|\r|\Z)')
    rows: list[tuple[SheetCell, ...]] = []
    cells: list[SheetCell] = []
    place = 1 if text.startswith("\ufeff") else 0
    while place < len(text):
        match = pattern.match(text, place)
        assert match is not None, "every text has a cell at every place"
        cells.append(SheetCell(_value(match[1]), match.start(1), match.end(1)))
        place = match.end()
        if match[2] != delimiter:
            rows.append(tuple(cells))
            cells = []
    if cells:
        rows.append((*cells, SheetCell("", place, place)))
    return tuple(row for row in rows if len(row) > 1 or row[0].value)


def _value(raw: str) -> str:
    if not raw.startswith('"'):
        return raw
    closing = re.match(r'"((?:[^"]|"")*)"', raw)
    if closing is None:
        return raw
    return closing[1].replace('""', '"') + raw[closing.end() :]
