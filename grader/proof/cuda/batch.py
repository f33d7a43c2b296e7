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
    """Grade copies of the solutions and of the stubs on both devices, and on each alone."""
    folder = space / "batch"
    for number in range(count):
        source = places.EXERCISES if number % 4 == 3 else places.SOLUTIONS
        (folder / f"{number:03}").mkdir(parents=True)
        for path in source.glob("ex*.py"):
            shutil.copy(path, folder / f"{number:03}")
    chosen = [word for name in only for word in ("--only", name)]

    def graded_on(devices: str) -> Any:
        began = time.monotonic()
        report = graded(folder, devices, space / "report.json", *chosen)
        took = time.monotonic() - began
        part.note(f"{count} submissions on {devices}: {took:.1f} s; {_memory_now(device)}")
        return report

    report = graded_on(f"cpu,{device}")
    part.note(f"isolation: {report['kit']['isolation']}")
    scores = [one["score"] for one in report["submissions"]]
    part.require(len(scores) == count, f"{len(scores)} of {count} were graded")
    differ = [score for score in scores if score["cpu"] != score[device]]
    part.require(not differ, f"{len(differ)} scores differ, such as {differ[:1]}")
    part.require(any(score[device] for score in scores), "nobody has a point there")
    for alone in ("cpu", device):
        graded_on(alone)


def _memory_now(device: str) -> str:
    """Say how much of a GPU's memory is taken, where its driver's tool is there."""
    tool = shutil.which("nvidia-smi") if device == "cuda" else None
    if tool is None:
        return "nothing here tells the device's memory"
    asks = [tool, "--query-gpu=memory.used,memory.total", "--format=csv,noheader"]
    done = subprocess.run(asks, check=False, capture_output=True, text=True)
    return f"memory of the device after it: {done.stdout.strip() or done.stderr.strip()}"
