"""A batch with a GPU: how long it takes on each device, and whether the columns are the same."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader import places
from grader.proof.cuda.grading import graded
from grader.proof.cuda.part import Part


def timed(device: str, count: int, only: Sequence[str], space: Path, part: Part) -> None:
    """Grade one copy of the solutions on each device, and then many and stubs on both at once."""
    alone, folder = space / "alone", space / "batch"
    _hand_in(places.SOLUTIONS, alone / "one")
    for number in range(count):
        source = places.EXERCISES if number % 4 == 3 else places.SOLUTIONS
        _hand_in(source, folder / f"{number:03}")
    chosen = [word for name in only for word in ("--only", name)]

    def graded_on(devices: str, submissions: Path) -> Any:
        began = time.monotonic()
        report = graded(submissions, devices, space / "report.json", *chosen)
        took, many = time.monotonic() - began, len(report["submissions"])
        part.note(f"{many} submitted, graded on {devices}: {took:.1f} s; {_memory_now(device)}")
        return report

    for name in ("cpu", device):
        graded_on(name, alone)
    report = graded_on(f"cpu,{device}", folder)
    part.note(f"isolation: {report['kit']['isolation']}")
    scores = [one["score"] for one in report["submissions"]]
    part.require(len(scores) == count, f"{len(scores)} of {count} were graded")
    differ = [score for score in scores if score["cpu"] != score[device]]
    part.require(not differ, f"{len(differ)} scores differ, such as {differ[:1]}")
    part.require(_points(report, device) > 0, "nobody has a point there")


def _hand_in(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in source.glob("ex*.py"):
        shutil.copy(path, folder)


def _points(report: Any, device: str) -> float:
    """Add up what was earned in either track."""
    return float(sum(
        exercise["devices"][device]["earned"]
        for one in report["submissions"] for exercise in one["exercises"]
    ))  # fmt: skip


def _memory_now(device: str) -> str:
    """Say how much of a GPU's memory is taken, where its driver's tool is there."""
    tool = shutil.which("nvidia-smi") if device == "cuda" else None
    if tool is None:
        return "nothing here tells the device's memory"
    asks = [tool, "--query-gpu=memory.used,memory.total", "--format=csv,noheader"]
    done = subprocess.run(asks, check=False, capture_output=True, text=True)
    return f"memory of the device after it: {done.stdout.strip() or done.stderr.strip()}"
