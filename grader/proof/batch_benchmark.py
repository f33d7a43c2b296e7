"""What judging apart costs: ratios from one run, never absolute times.

`python -m grader.proof.batch_benchmark [COUNT [ROUNDS]]` grades COUNT copies of the solutions, and
right answers that differ. Each round measures everything once: no machine is always as fast.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from grader import places
from grader.chapters import Exercise, World, catalogue
from grader.hearings.hearing import Limits
from grader.hearings.process import JudgeProcess
from grader.judging.run import Setting, run
from grader.remote.held import chapters_in
from grader.sandbox import Isolation, offered
from grader.workers import cores

SLOTS = 2
STARTS = 15
SMALL = ["ex03_masking.causal_mask"]


@dataclass
class Times:
    """Seconds for each submission, one for each round."""

    own: list[float] = field(default_factory=list)
    own_mixed: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    batch: list[float] = field(default_factory=list)
    mixed: list[float] = field(default_factory=list)
    pytest: list[float] = field(default_factory=list)

    def of(self, name: str) -> float:
        """Return the middle one of a kind."""
        return statistics.median(getattr(self, name))

    def ratio(self, one: str, other: str) -> float:
        """Return how many times longer one takes, the middle of the rounds."""
        pairs = zip(getattr(self, one), getattr(self, other), strict=True)
        return statistics.median(a / b for a, b in pairs)


def main(count: int = 100, rounds: int = 5) -> None:
    """Print the ratios."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of what is measured
    times, memory = Times(), []
    others = _others(count)
    own = [*sorted(cores.mine()), 0][:SLOTS]
    with contextlib.ExitStack() as stack:
        walls, plain = (stack.enter_context(_judge(how)) for how in (offered(), None))
        pair = [stack.enter_context(_judge(offered(), core)) for core in own]
        for judge in pair:
            _batch([judge], others)
        for turn in range(rounds):
            times.own.append(_suites([places.SOLUTIONS]))
            times.own_mixed.append(_suites(others))
            times.new.append(_hear(walls, places.SOLUTIONS, seed=turn + 1))
            _hear(walls, places.SOLUTIONS)
            times.again.append(_hear(walls, places.SOLUTIONS))
            times.batch.append(_batch(pair, [places.SOLUTIONS] * max(2, count // rounds)))
            times.mixed.append(_batch(pair, others))
            times.pytest.append(_pytest())
            memory.append(sum(_memory(judge.pid) for judge in pair))
        _tell(times, memory, _start(walls) - _start(plain))


def _tell(times: Times, memory: list[int], walls: float) -> None:
    def line(what: str, name: str, own: str = "own") -> None:
        print(f"{what:<47}{times.of(name):6.2f} s = {times.ratio(name, own):.2f} x")

    line("the suites on the solutions, in one process", "own")
    line("a right submission alone, the first of a seed", "new")
    line("a right submission alone, not the first", "again")
    print(f"{'  of which the walls':<47}{walls:6.3f} s")
    line("copies in a batch, two judges, each", "batch")
    line("different ones in a batch, each", "mixed", "own_mixed")
    print(f"{'one pytest process each, two at a time':<47}{times.of('pytest'):6.2f} s each: the "
          f"batch is {times.ratio('pytest', 'batch'):.1f} times as fast")  # fmt: skip
    print(f"{'memory of two judges and nurseries, peak':<47}{memory[0]:6d} MB after the first "
          f"round, {memory[-1]} MB at the end")  # fmt: skip


def _suites(folders: list[Path]) -> float:
    """Return the time for each folder."""
    checks = {
        World(folder, catalogue().names()): [c for one in _exercises(folder) for c in one.checks]
        for folder in folders
    }
    for world, some in checks.items():
        for stem in dict.fromkeys(check.stem for check in some):
            world.load(stem)
    began = time.perf_counter()
    for world, some in checks.items():
        for check in some:
            run(check, world, Setting())
    return (time.perf_counter() - began) / len(folders)


def _exercises(folder: Path) -> list[Exercise]:
    """List the exercises that answers may hold: not all of them go beyond the seven chapters."""
    return [one for one in catalogue().exercises() if (folder / f"{one.stem}.py").is_file()]


def _start(judge: JudgeProcess) -> float:
    """Return the time for a submission of which only one function is judged."""
    return statistics.median(_hear(judge, places.SOLUTIONS, only=SMALL) for _ in range(STARTS))


def _others(most: int) -> list[Path]:
    """Return right answers written in other ways; loops take ten times as long as anything else."""
    every = [path for path in places.variants() if path.name != "loops"]
    return every[:: -(-len(every) // most)]


@contextlib.contextmanager
def _judge(isolation: Isolation | None, core: int | None = None) -> Iterator[JudgeProcess]:
    judge = JudgeProcess(isolation, core=core)
    try:
        judge.wait()
        _hear(judge, places.SOLUTIONS)
        yield judge
    finally:
        judge.close()


def _hear(
    judge: JudgeProcess, answers: Path, seed: int = 0, only: list[str] | None = None
) -> float:
    names = only or [exercise.full for exercise in _exercises(answers)]
    sources = chapters_in(answers)
    began = time.perf_counter()
    results = judge.hear(sources, names, "cpu", seed, Limits())
    assert all(result.passed for result in results)
    return time.perf_counter() - began


def _batch(pair: list[JudgeProcess], answers: list[Path]) -> float:
    """Return the time for each submission."""
    waiting = deque(answers)

    def work(judge: JudgeProcess) -> None:
        with contextlib.suppress(IndexError):
            while True:
                _hear(judge, waiting.popleft())

    began = time.perf_counter()
    with ThreadPoolExecutor(SLOTS) as pool:
        list(pool.map(work, pair))
    return (time.perf_counter() - began) / len(answers)


def _pytest() -> float:
    command = [sys.executable, "-m", "pytest", "-q", "--answers=solutions"]

    def one(_: int) -> None:
        subprocess.run(command, cwd=places.ROOT, check=True, capture_output=True)

    began = time.perf_counter()
    with ThreadPoolExecutor(SLOTS) as pool:
        list(pool.map(one, range(SLOTS)))
    return (time.perf_counter() - began) / SLOTS


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
