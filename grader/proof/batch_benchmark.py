"""What judging apart costs: ratios from one run, never absolute times.

`python -m grader.proof.batch_benchmark [COUNT]` grades COUNT copies of the solutions.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grader.chapters import Catalogue, World, catalogue, places
from grader.judging.hearing import Limits
from grader.judging.process import JudgeProcess
from grader.judging.run import Setting, run
from grader.sandbox import Isolation, offered

PYTEST_RUNS = 6
SLOTS = 2


def main(count: int = 24) -> None:
    """Print the ratios."""
    import torch

    torch.set_num_threads(1)
    known = catalogue()
    own = _suites(known)
    print(f"suites' own time, warm, in one process       {own:6.2f} s")
    with _judge(offered()) as judge, _judge(None) as open_judge:
        shut_in = statistics.median(_hear(judge, known) for _ in range(9))
        in_the_open = statistics.median(_hear(open_judge, known) for _ in range(9))
    print(f"a right submission, judged alone             {shut_in:6.2f} s = {shut_in / own:.2f} x")
    print(f"  the same without walls                     {in_the_open:6.2f} s, so the walls cost "
          f"{1000 * (shut_in - in_the_open):.0f} ms")  # fmt: skip
    each, early, late = _batch(known, count)
    print(f"a right submission of {count}, two judges      {each:6.2f} s = {each / own:.2f} x")
    alone = _pytest()
    print(f"one pytest process each, two at a time       {alone:6.2f} s each (measured on "
          f"{PYTEST_RUNS}): the batch is {alone / each:.1f} times as fast")  # fmt: skip
    print(f"memory of judge and nursery, peak            {early} MB after the first quarter, "
          f"{late} MB at the end")  # fmt: skip


def _suites(known: Catalogue) -> float:
    world, setting = World(places.SOLUTIONS, known.names()), Setting()
    checks = [check for exercise in known.exercises() for check in exercise.checks]
    times = []
    for _ in range(5):
        began = time.perf_counter()
        for check in checks:
            run(check, world, setting)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


@contextlib.contextmanager
def _judge(isolation: Isolation | None, core: int | None = None) -> Iterator[JudgeProcess]:
    judge = JudgeProcess(isolation, core=core)
    try:
        judge.wait()
        _hear(judge, catalogue())
        yield judge
    finally:
        judge.close()


def _hear(judge: JudgeProcess, known: Catalogue) -> float:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for path in places.SOLUTIONS.glob("ex*.py"):
            (Path(folder) / path.name).write_bytes(path.read_bytes())
        began = time.perf_counter()
        names = [exercise.full for exercise in known.exercises()]
        results = judge.hear(Path(folder), names, "cpu", 0, Limits())
        assert all(result.passed for result in results)
        return time.perf_counter() - began


def _batch(known: Catalogue, count: int) -> tuple[float, int, int]:
    """Return the time for each submission, and the memory early and late."""
    cores = [*sorted(os.sched_getaffinity(0)), 0][:SLOTS]
    with _judge(offered(), cores[0]) as one, _judge(offered(), cores[1]) as other:
        judges = [one, other]
        began = time.perf_counter()
        with ThreadPoolExecutor(SLOTS) as pool:
            list(pool.map(lambda j: _many(j, known, count // 4 // SLOTS), judges))
            early = sum(_memory(judge.pid) for judge in judges)
            rest = count // SLOTS - count // 4 // SLOTS
            list(pool.map(lambda j: _many(j, known, rest), judges))
        each = (time.perf_counter() - began) / (count // SLOTS * SLOTS)
        return each, early, sum(_memory(judge.pid) for judge in judges)


def _many(judge: JudgeProcess, known: Catalogue, count: int) -> None:
    for _ in range(count):
        _hear(judge, known)


def _pytest() -> float:
    command = [sys.executable, "-m", "pytest", "-q", "--answers=solutions"]

    def one(_: int) -> None:
        subprocess.run(command, cwd=places.ROOT, check=True, capture_output=True)

    began = time.perf_counter()
    with ThreadPoolExecutor(SLOTS) as pool:
        list(pool.map(one, range(PYTEST_RUNS)))
    return (time.perf_counter() - began) / PYTEST_RUNS


def _memory(pid: int) -> int:
    """Return the peak memory of a process and its children, in megabytes."""
    peak = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                peak = int(line.split()[1]) // 1024
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            peak += _memory(int(child))
    return peak


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
