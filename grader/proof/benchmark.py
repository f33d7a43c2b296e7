"""`python -m grader.proof.benchmark`: how fast the loop is, as ratios measured in one run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch

from grader.chapters import World, catalogue, places
from grader.judging.judge import Judge

ROUNDS = 5
BASE = ["-c", "import torch, pytest"]
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
# One core: two would make the ratio of a parallel import to a serial run
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Measure in turn, so that a machine that drifts drifts for all alike, and print medians."""
    commands = {
        "import torch, pytest": BASE,
        "pytest, untouched stubs": [*PYTEST, f"--answers={places.EXERCISES}"],
        "pytest, solutions": [*PYTEST, f"--answers={places.SOLUTIONS}"],
    }
    taken: dict[str, list[float]] = {title: [] for title in commands}
    for arguments in commands.values():
        seconds(arguments)
    for _ in range(ROUNDS):
        for title, arguments in commands.items():
            taken[title].append(seconds(arguments))
    base = statistics.median(taken["import torch, pytest"])
    for title, times in taken.items():
        middle = statistics.median(times)
        print(f"{title:<32} {middle:6.2f} s   {middle / base:5.2f} x the import")
    stubs = statistics.median(taken["pytest, untouched stubs"])
    print(f"{'stubs: 1.5 x the import + 1 s':<32} {stubs / (1.5 * base + 1):6.2f} of the limit")
    own = statistics.median(suites(places.SOLUTIONS) for _ in range(ROUNDS))
    print(f"{'the suites own time':<32} {own:6.2f} s   {own / base:5.2f} x the import")


def seconds(arguments: list[str]) -> float:
    """Time one Python process."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=ENVIRONMENT, cwd=places.ROOT, check=False,
        capture_output=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - began


def suites(folder: Path) -> float:
    """Time the calls of all checks on the solutions, one after the other, on one core."""
    torch.set_num_threads(1)
    known = catalogue()
    judge = Judge(known, World(folder, known.names()))
    began = time.perf_counter()
    for exercise in known.exercises():
        for check in exercise.checks:
            if not judge.judge(check).passed:
                raise SystemExit(f"{check.full_exercise} {check.name} fails: nothing was measured")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
