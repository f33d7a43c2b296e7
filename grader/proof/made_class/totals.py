"""Everybody's total on the CPU, in hundredths of a point, as each report of a class says it."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

# None: could not be graded
Totals = dict[str, int | None]


def _cents(number: object) -> int:
    return int(Decimal(str(number)) * 100)


def from_json(path: Path) -> Totals:
    """Read the json report."""
    return {
        one["id"]: None if one["problem"] else _cents(one["score"]["cpu"])
        for one in json.loads(path.read_text(encoding="utf-8"))["submissions"]
    }


def from_class(path: Path) -> Totals:
    """Read the figures of the class page."""
    return {
        one["id"]: None if one["problem"] else _cents(one["score"]["cpu"])
        for one in json.loads(path.read_text(encoding="utf-8"))["submissions"]
    }


def from_csv(path: Path) -> Totals:
    """Read the table for spreadsheets."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {
            row["id"]: None if row["problem"] else _cents(row["cpu"])
            for row in csv.DictReader(file)
        }


def from_junit(path: Path) -> Totals:
    """Read junit's suites."""
    totals: Totals = {}
    for suite in ElementTree.parse(path).getroot():
        said = {one.get("name"): one.get("value") for one in suite.iter("property")}
        broken = [one for one in suite.iter("testcase") if one.get("classname") == "submission"]
        totals[str(suite.get("name"))] = None if broken else _cents(said["score.cpu"])
    return totals


def from_page(path: Path) -> Totals:
    """Read the rows of the class page."""
    totals: Totals = {}
    for row in re.findall(r"<tr\b.*?</tr>", path.read_text(encoding="utf-8"), re.DOTALL):
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
        texts = [html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in cells]
        refused = texts and texts[-1] == "could not be graded"
        if len(cells) > 5 and (refused or re.fullmatch(r"[\d.]+", texts[1])):
            totals[texts[0]] = None if refused else _cents(texts[1])
    return totals


def from_table(printed: str) -> Totals:
    """Read what is printed on a wide terminal."""
    totals: Totals = {}
    for line in printed.splitlines():
        scored = re.match(r"(\S.*?) {2,}(\d+\.\d\d) ", line)
        refused = re.match(r"(.+?) could not be graded: ", line)
        if scored:
            totals[scored[1]] = _cents(scored[2])
        elif refused:
            totals[refused[1]] = None
    return totals


REPORTS: dict[str, tuple[str, Callable[[Path], Totals]]] = {
    "json": ("scores.json", from_json),
    "csv": ("scores.csv", from_csv),
    "class": ("class.json", from_class),
    "junit": ("scores.xml", from_junit),
    "html": ("scores.html", from_page),
}
