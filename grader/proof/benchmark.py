"""`python -m grader.proof.benchmark`: how fast the loop is, as ratios measured in one run."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from grader import places
from grader.chapters import World, catalogue
from grader.judging.judge import Judge

ROUNDS = 3
# so many more are run where the stubs seem too slow: the machine may have been busy in all of them
MORE_ROUNDS = 9
IMPORT = "import torch, pytest"
STUBS = "pytest, untouched stubs"
BASE = ["-c", "import torch, pytest"]
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
# One core: two would make the ratio of a parallel import to a serial run
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
# Python keeps what it has compiled, as on a student's machine, whatever is usual on this one
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)


def main() -> None:
    """Measure in turn, so that a machine that drifts drifts for all alike, and print medians.

    Raises:
        SystemExit: the promise to who has just unpacked the kit is broken.
    """
    commands = {
        IMPORT: BASE,
        STUBS: [*PYTEST, f"--answers={places.EXERCISES}"],
        "pytest, solutions": [*PYTEST, f"--answers={places.SOLUTIONS}"],
    }
    taken: dict[str, list[float]] = {title: [] for title in commands}
    for arguments in commands.values():
        seconds(arguments)
    for _ in range(ROUNDS):
        for title, arguments in commands.items():
            taken[title].append(seconds(arguments))
    for _ in range(MORE_ROUNDS):
        if of_limit(taken) <= 1:
            break
        for title in (IMPORT, STUBS):
            taken[title].append(seconds(commands[title]))
    base = statistics.median(taken[IMPORT])
    for title, times in taken.items():
        middle = statistics.median(times)
        print(f"{title:<32} {middle:6.2f} s   {middle / base:5.2f} x the import")
    print(f"{'stubs: 1.5 x the import + 1 s':<32} {of_limit(taken):6.2f} of the limit")
    own = statistics.median(suites(places.SOLUTIONS) for _ in range(ROUNDS))
    print(f"{'the suites own time':<32} {own:6.2f} s   {own / base:5.2f} x the import")
    if of_limit(taken) > 1:
        raise SystemExit("a promise is broken: the fastest run of the stubs is over the limit")


def of_limit(taken: Mapping[str, Sequence[float]]) -> float:
    """Compare the fastest runs: what else the machine does can only add to a time."""
    return min(taken[STUBS]) / (1.5 * min(taken[IMPORT]) + 1)


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
