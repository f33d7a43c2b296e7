"""What a submission costs in made-up classes: `python -m grader.proof.scale 100 200 400`.

For each size a class is made, in which no two hand in the same, and graded once on the CPU. Told
are the seconds of the processor of all processes, the grader's own among them, the memory that its
process has held at most, and the size of the json report: for each submission, and for 10,000 by
what they have grown from the smallest class to the largest.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from grader import places
from grader.proof.made_class.make import make

SEED = 7
LARGE = 10_000
MEGABYTE = 10**6
OFTEN = 0.2


@dataclass(frozen=True)
class Cost:
    """What a class has cost.

    Attributes:
        count: of students.
        seconds: of the processor, in all.
        memory: the most that the main process held, in bytes.
        size: of the json report, in bytes.
    """

    count: int
    seconds: float
    memory: int
    size: int


def main(counts: list[int]) -> None:
    """Print what each class has cost, and what a large one would."""
    costs = []
    for count in sorted(counts):
        with tempfile.TemporaryDirectory(prefix="scale-") as space:
            costs.append(cost(Path(space), count))
            _tell(costs[-1])
    if len(costs) > 1:
        _foretell(costs[0], costs[-1])


def cost(space: Path, count: int) -> Cost:
    """Make a class and grade it."""
    make(space / "class", count, SEED)
    report = space / "scores.json"
    before = used_by_children()
    run = subprocess.Popen(
        [sys.executable, "-m", "grader", "grade", str(space / "class"), "--seed", str(SEED),
         "--device", "cpu", "--report", f"json={report}"],
        cwd=places.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    memory = 0
    while run.poll() is None:
        memory = max(memory, _peak(run.pid))
        time.sleep(OFTEN)
    return Cost(count, used_by_children() - before, memory, report.stat().st_size)


def used_by_children() -> float:
    """Return the seconds of the processor of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _peak(pid: int) -> int:
    """Return the most memory that a process has held, in bytes."""
    try:
        found = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def _tell(one: Cost) -> None:
    print(
        f"{one.count:>6} submissions: {one.seconds / one.count:.2f} s of the processor each, "
        f"{one.memory / MEGABYTE:.0f} MB in the main process, "
        f"{one.size / one.count / 1000:.1f} kB of json each",
        flush=True,
    )


def _foretell(few: Cost, many: Cost) -> None:
    def at(what: str) -> float:
        first, last = getattr(few, what), getattr(many, what)
        return float(first + (last - first) / (many.count - few.count) * (LARGE - few.count))

    print(
        f"{LARGE:>6} would be: {at('seconds') / LARGE:.2f} s each, {at('memory') / MEGABYTE:.0f} "
        f"MB in the main process, {at('size') / MEGABYTE:.0f} MB of json"
    )


if __name__ == "__main__":
    main([int(count) for count in sys.argv[1:]] or [100, 200, 400])
