"""The totals of a report, read back from the file as its readers do, each in every way it has."""

from __future__ import annotations

import base64
import csv
import json
import re
import zipfile
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from grader.reports import gradebook
from grader.reports.formats import FORMATS
from grader.reports.platforms import read
from grader.results import Run

Totals = dict[str, list[int]]


def written(form: str, run: Run, folder: Path) -> Path:
    """Write a report and return its path."""
    path = folder / f"report.{form}"
    FORMATS[form](run, path)
    return path


def text_of(form: str, run: Run, folder: Path) -> str:
    """Write a report of one submission and return its text; of an archive, the page in it."""
    path = written(form, run, folder)
    if form != "feedback":
        return path.read_text(encoding="utf-8")
    with zipfile.ZipFile(path) as archive:
        (member,) = archive.namelist()
        return archive.read(member).decode("utf-8")


def cents(number: object) -> int:
    """In hundredths, so that nothing is rounded away in a comparison."""
    exact = Fraction(str(number)) * 100
    assert exact.denominator == 1, f"{number} has more than two decimals"
    return exact.numerator


def from_json(run: Run, folder: Path) -> Totals:
    """The score, and the sum of what the exercises earned."""
    (found,) = json.loads(written("json", run, folder).read_text())["submissions"]
    totals = {}
    for device, score in found["score"].items():
        parts = [e["devices"][device] for e in found["exercises"] if e["track"] == "core"]
        further = [e["devices"][device] for e in found["exercises"] if e["track"] == "beyond"]
        if found["beyond"][device] is not None:
            assert cents(found["beyond"][device]) == sum(cents(one["earned"]) for one in further)
        assert (score is None) == (parts != [] and None in parts) or found["problem"]
        if score is not None:
            totals[device] = [cents(score), sum(cents(part["earned"]) for part in parts)]
    return totals


def from_csv(run: Run, folder: Path) -> Totals:
    """The score's column, and the sum of the exercises' columns."""
    with written("csv", run, folder).open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    totals = {}
    for device in ("cpu", "cuda"):
        ended = [column for column in row if column.endswith(f" {device}")]
        parts = [row[column] for column in ended if not column.startswith("ex14")]
        further = [row[column] for column in ended if column.startswith("ex14")]
        if row.get(f"{device} beyond"):
            assert cents(row[f"{device} beyond"]) == sum(map(cents, further))
        if row[device]:
            totals[device] = [cents(row[device]), sum(map(cents, parts))]
        else:
            assert not any(parts)
    return totals


def from_junit(run: Run, folder: Path) -> Totals:
    """The score's property, and the sum of the exercises' properties."""
    suite = ElementTree.parse(written("junit", run, folder)).getroot()[0]
    said = {str(p.get("name")): str(p.get("value")) for p in suite.iter("property")}
    totals = {}
    for device in ("cpu", "cuda"):
        points = {k: v.split()[0] for k, v in said.items() if k.startswith(f"points.{device}.")}
        parts = [worth for name, worth in points.items() if ".ex14" not in name]
        if not said[f"score.{device}"].startswith("not run"):
            totals[device] = [cents(said[f"score.{device}"]), sum(map(cents, parts))]
    return totals


def from_html(run: Run, folder: Path) -> Totals:
    """The boxes at the top, the sum of the chapters, the sum of the functions."""
    page = Cells(written("html", run, folder).read_text(encoding="utf-8"))
    chapters = [row for row in page.rows if re.match(r"ex0\d_", row[0])]
    functions = [row for row in page.rows if re.match("task_", row[0])]
    totals = {}
    for place, (device, box) in enumerate(zip(("cpu", "cuda"), page.boxes, strict=False), 1):
        if not box.startswith("not run"):
            totals[device] = [
                cents(box.split()[0]),
                sum(cents(row[place]) for row in chapters),
                sum(cents(re.findall(r"[\d.]+", row[place])[0]) for row in functions),
            ]
    return totals


def from_gradescope(run: Run, folder: Path) -> Totals:
    """The score, and the sum of the tests."""
    found = json.loads(written("gradescope", run, folder).read_text())
    return {
        "final": [
            cents(found["score"]),
            sum(cents(t["score"]) for t in found["tests"] if "score" in t),
        ]
    }


def from_classroom(run: Run, folder: Path) -> Totals:
    """What the reporter prints, and what it sends; it adds with plain floats."""
    results = classroom_results(written("classroom", run, folder))
    printed = sum(
        sum(test["status"] == "pass" for test in one["tests"])
        / len(one["tests"])
        * one["max_score"]
        for one in results
    )
    sent = most = 0.0
    for one in results:
        most += one["max_score"]
        for test in one["tests"] if one["max_score"] else []:
            sent += test["score"]
    assert most == float(run.submissions[0].maximum)
    return {"final": [cents(printed), cents(sent)]}


def from_canvas(run: Run, folder: Path) -> Totals:
    """The grade in a gradebook whose assignment is worth the same."""
    path = folder / "canvas.csv"
    worth = float(run.submissions[0].maximum)
    path.write_text(
        f"Student,ID,Section,Attention (7)\n    Points Possible,,,{worth:.2f}\nstudent 0,1,A,\n"
    )
    filled, _ = gradebook.fill(read(path), run)
    grade = filled.decode().splitlines()[-1].split(",")[-1]
    return {"final": [cents(grade)] if grade else []}


READERS = {
    "json": from_json,
    "csv": from_csv,
    "junit": from_junit,
    "html": from_html,
    "gradescope": from_gradescope,
    "classroom": from_classroom,
    "canvas": from_canvas,
}


def classroom_results(path: Path) -> list[dict]:
    """Decode as the reporter does."""
    lines = dict(line.split("=", 1) for line in path.read_text("ascii").splitlines())
    assert list(lines) == ["EARNED_RESULTS", "OPEN_RESULTS"]
    return [json.loads(base64.b64decode(value).decode("utf-8")) for value in lines.values()]


class Cells(HTMLParser):
    """The texts of a page's table cells and of its boxes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.boxes: list[str] = []
        self.into: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Begin a cell or a box."""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th", "dd"):
            self.into = self.boxes if tag == "dd" else self.rows[-1]
            self.into.append("")

    def handle_endtag(self, tag: str) -> None:
        """End it."""
        if tag in ("td", "th", "dd"):
            self.into = None

    def handle_data(self, data: str) -> None:
        """Collect its text."""
        if self.into is not None:
            self.into[-1] += data
