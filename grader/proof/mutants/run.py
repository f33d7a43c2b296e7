"""Running mutants: each in a process of its own, until a check has told it."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import torch

from grader import places
from grader.chapters import Catalogue, World, catalogue
from grader.judging.judge import Judge
from grader.judging.recognise import SlipMemory
from grader.judging.run import Setting, run
from grader.proof.mutants.make import Mutant
from grader.proof.mutants.search import difference
from grader.proof.mutants.survivors import Survivors
from grader.suite.check import Check

# what the checks expect, worked out once and there in every fork
EXPECTED = SlipMemory()
# how many mutants of a function each check has told: those that told the most are tried first
TOLD = defaultdict[str, Counter[str]](Counter)
# seconds of the processor for a check before a mutant counts as told: the slowest takes 0.7
SECONDS = 5
WALL = 120
# which of the two nobody knows, so it is left to a person
GONE = f"!it ended its process, or took {WALL} s on the wall"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Attributes:
        mutant: the mutant.
        told_by: the check that told it; empty if none did.
        search: of one that no check told and that is not listed, what came of looking for a call
            that does.
    """

    mutant: Mutant
    told_by: str
    search: str = ""


def run_all(mutants: Iterable[Mutant], jobs: int) -> Iterator[Verdict]:
    """Run mutants, as many at a time as there are jobs; the order is kept."""
    with get_context("spawn").Pool(jobs, _begin) as pool:
        yield from pool.imap(_run, mutants, chunksize=1)


def _begin() -> None:
    torch.set_num_threads(1)
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)  # what it imports is late


@functools.cache
def _warm(stem: str) -> None:
    """Work out once what the checks of a chapter expect."""
    known = catalogue()
    judge = Judge(known, World(places.SOLUTIONS, known.names()), memory=EXPECTED)
    for exercise in known.exercises():
        if exercise.stem == stem:
            for check in exercise.checks:
                judge.judge(check)
    gc.freeze()


def _run(mutant: Mutant) -> Verdict:
    """Fork, so that nothing that a mutant does is left for the next one."""
    _warm(mutant.stem)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        told = "it ended its process\n"
        with contextlib.suppress(BaseException):
            told = "\n".join(_told_by(mutant))
        with contextlib.suppress(OSError):
            os.write(write, told.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        said = answer.read().decode()
    os.waitpid(child, 0)
    told_by, _, search = (said or f"\n{GONE}").partition("\n")
    TOLD[f"{mutant.stem}.{mutant.function}"][told_by] += 1
    return Verdict(mutant, told_by, search)


def _told_by(mutant: Mutant) -> tuple[str, str]:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, WALL)
    sys.setrecursionlimit(500)
    known = catalogue()
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    try:
        for path in mutant.folder.glob("ex*.py"):
            shutil.copy(path, folder)
        (folder / f"{mutant.stem}.py").write_text(mutant.source, encoding="utf-8")
        world = World(folder, known.names())
        for check in _checks(known, mutant):
            tape = EXPECTED.tapes.get((check.stem, check.name))
            _limit()
            if not run(check, world, Setting(), tape=tape)[0].passed:
                return check.name, ""
        if mutant.key in _listed(mutant.folder.name):
            return "", ""  # what is listed has a reason already
        names = sorted({check.exercise for check in _checks(known, mutant)})
        right = World(mutant.folder, known.names())
        return "", difference(right, world, mutant.stem, names, _limit)
    except TimeoutError:
        return "the time limit", ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _listed(folder: str) -> Collection[str]:
    return Survivors(folder).reasons


def _checks(known: Catalogue, mutant: Mutant) -> list[Check]:
    """List the checks that may tell a mutant: those of its function, or of all that may use it."""
    chapter = next(one for one in known.chapters if one.stem == mutant.stem)
    own = [e for e in chapter.exercises if e.name == mutant.function]
    checks = [check for exercise in own or chapter.exercises for check in exercise.checks]
    told = TOLD[f"{mutant.stem}.{mutant.function}"]
    return sorted(checks, key=lambda check: -told[check.name])


def _limit() -> None:
    """Begin to count the time of a check, or of a call, anew."""

    def ring(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)
