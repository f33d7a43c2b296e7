"""A made-up class is graded in every way: all agree, and nobody is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from grader import places
from grader.proof.figure import Figure
from grader.proof.made_class.make import Student
from grader.proof.made_class.totals import REPORTS, Totals, from_json, from_table

SEED = 5
PARTS = 3
# a terminal that cuts no name
WIDE = "400"


@dataclass(frozen=True)
class Grading:
    """One class, to be graded again and again.

    Attributes:
        folder: of the class.
        space: for results and reports.
        only: functions, if not all.
    """

    folder: Path
    space: Path
    only: str | None

    def start(self, *options: object) -> subprocess.Popen[str]:
        """Begin to grade."""
        only = ("--only", self.only) if self.only else ()
        command = ("grade", self.folder, "--device", "cpu", "--seed", SEED, *only, *options)
        return _start(*command)

    def json(self, name: str, *options: object) -> bytes:
        """Grade, and return the json report."""
        path = self.space / f"{name}.json"
        began = time.monotonic()
        printed, _ = self.start(*options, "--report", f"json={path}").communicate()
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        return path.read_bytes() if path.exists() else printed.encode()


def check(folder: Path, ledger: Sequence[Student], only: str | None = None) -> list[Figure]:
    """Grade in every way, and count what holds.

    Args:
        folder: of the class.
        ledger: what has to come of whom.
        only: functions, if not all.
    """
    with tempfile.TemporaryDirectory(prefix="made-class-") as space:
        grading = Grading(folder, Path(space), only)
        asked = [f"--report={form}={space}/{file}" for form, (file, _) in REPORTS.items()]
        printed, _ = grading.start("--jobs", 2, *asked).communicate()
        found = {form: read(Path(space) / file) for form, (file, read) in REPORTS.items()}
        whole = (Path(space) / REPORTS["json"][0]).read_bytes()
        figures = [as_the_ledger_says(ledger, Path(space) / REPORTS["json"][0])]
        figures.append(agreeing({**found, "the table": from_table(printed)}))
        same = Figure("other ways to grade give the same json")
        for name, other in _other_ways(grading):
            same.count(other == whole, f"{name}: {len(other)} bytes, not those {len(whole)}")
        return [*figures, same]


def as_the_ledger_says(ledger: Sequence[Student], report: Path) -> Figure:
    """Everybody is graded, or named with a reason; who has handed in what is right has it all."""
    figure = Figure("students graded or named as they have to be")
    totals = from_json(report)
    most = max((total or 0 for total in totals.values()), default=0)
    for one in ledger:
        total = totals.get(one.id, "lost")
        what = f"{one.id} ({one.kind}, {one.shape}): {total}"
        named = total is None
        if total == "lost" or named != (one.expected == "named"):
            figure.count(False, f"{what}, has to be {one.expected}")
        else:
            figure.count(not one.full or total == most, f"{what} of {most}")
    strange = sorted(set(totals) - {one.id for one in ledger})
    figure.count(not strange, f"{strange}: nobody's")
    return figure


def agreeing(found: dict[str, Totals]) -> Figure:
    """All reports give everybody the total that json does."""
    figure = Figure("totals that are the same in every report")
    for form, totals in found.items():
        for student, total in found["json"].items():
            said = totals.get(student, "nobody")
            figure.count(said == total, f"{student}: {total} in json, {said} in {form}")
    return figure


def _other_ways(grading: Grading) -> list[tuple[str, bytes]]:
    ways = [("one at a time", grading.json("one at a time", "--jobs", 1))]
    ways.append(("killed, and taken up again", _killed(grading)))
    parts = [grading.space / f"part-{number}.db" for number in range(1, PARTS + 1)]
    for number, part in enumerate(parts, 1):
        grading.start("--shard", f"{number}/{PARTS}", "--results", part).communicate()
    merged = grading.space / "merged.json"
    _start("merge", *parts, "--report", f"json={merged}").communicate()
    ways.append((f"{PARTS} parts, merged", merged.read_bytes()))
    if find_spec("submitit"):
        ask = ("--cluster", "local", "--results", grading.space / "parts")
        ways.append(("a cluster's jobs", grading.json("cluster", *ask)))
    return ways


def _killed(grading: Grading) -> bytes:
    """Kill the grader once it has graded some, and let it go on."""
    results = ("--results", grading.space / "killed.db", "--jobs", 2)
    run = grading.start(*results)
    time.sleep(random.Random(SEED).uniform(10, 30))
    run.send_signal(signal.SIGKILL)
    run.communicate()
    return grading.json("killed", *results)


def _start(*command: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "grader", *map(str, command)],
        cwd=places.ROOT, env={**os.environ, "COLUMNS": WIDE},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
