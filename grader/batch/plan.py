"""What a batch is graded by, and the fingerprints that tell whether anything of it has changed."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader import places
from grader.chapters import Exercise
from grader.hearings.hearing import Limits
from grader.results import Earlier
from grader.sandbox import Isolation
from grader.workers import cores

# what of the kit cannot change a verdict
NO_MATTER = ("commands", "proof", "reports")
# what the kit reads; editors and systems leave other things beside it
READ = (".py", ".json", ".npy")
# spreadsheets, which the csv report is for, keep 15 digits of a number
SEEDS = 10**15


@dataclass(frozen=True)
class GradingPlan:
    """What to grade by, and how.

    Attributes:
        exercises: the exercises that count.
        devices: those to run on, in order.
        seed: of the inputs.
        limits: for each submission.
        jobs: how many submissions at a time; the verdicts do not depend on it.
        isolation: the walls that are put up around submissions; None for none.
        parts: into how many parts the batch is cut, of which this is to grade one.
        earlier: whose earlier chapters later ones are graded over.
        named: whether the exercises were asked for by name: else chapters beyond the seven count
            only for who has begun them.
        with_shapes: whether results are to have the shapes of the answers.
        on_gpu: the walls on a GPU; None: the same as on the CPU.
    """

    exercises: tuple[Exercise, ...]
    devices: tuple[str, ...]
    seed: int
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    isolation: Isolation | None = None
    parts: int = 1
    earlier: Earlier = "own"
    named: bool = False
    with_shapes: bool = False
    on_gpu: Isolation | None = None

    def exercises_in(self, files: Mapping[str, bytes]) -> tuple[Exercise, ...]:
        """Return those to be tried in a submission of these files."""
        return tuple(
            one
            for one in self.exercises
            if self.named or one.track == "core" or f"{one.stem}.py" in files
        )

    @functools.cached_property
    def settings(self) -> dict[str, str]:
        """All that a verdict depends on besides the submission and its walls, by plain names."""
        import torch

        return {
            "kit": _kit(),
            "PyTorch": torch.__version__,
            "Python": ".".join(platform.python_version_tuple()[:2]),
            "system": sys.platform,
            "exercises": ", ".join(exercise.full for exercise in self.exercises),
            "--device": ", ".join(self.devices),
            "--seed": str(self.seed),
            "--time-limit": str(self.limits.seconds),
            "--memory": str(self.limits.memory),
            "--earlier": self.earlier,
        }

    @functools.cached_property
    def fingerprint(self) -> str:
        """All that a verdict depends on besides the submission, as a digest."""
        # what is not kept out can change a verdict; what keeps the rest out cannot
        walls = self.on_gpu or self.isolation
        lost = walls.missing if walls else None
        return hashlib.sha256(json.dumps([self.settings, lost]).encode()).hexdigest()

    def with_own_seed(self, content: str) -> GradingPlan:
        """Return the plan with another seed: always the same one for the same content."""
        told = hashlib.sha256(f"{self.seed}/{content}".encode()).digest()
        return replace(self, seed=int.from_bytes(told, "big") % SEEDS)


def new_seed() -> int:
    """Draw a seed that no submission can know."""
    return secrets.randbelow(SEEDS)


def content(files: Mapping[str, bytes]) -> str:
    """Digest what counts of a submission."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    return digest.hexdigest()


def jobs_for(submissions: int) -> int:
    """Return how many to grade at a time: the cores that this process may use, if all have work."""
    return max(1, min(len(cores.mine()) or os.cpu_count() or 1, submissions))


@functools.cache
def _kit() -> str:
    return content({name: path.read_bytes() for name, path in _kit_files()})


def _kit_files() -> Iterator[tuple[str, Path]]:
    package = Path(__file__).parents[1]
    # messages quote the stubs, which are cut out of the solutions, and the rules
    for root in (package, places.SUITES, places.SOLUTIONS):
        for path in root.rglob("*"):
            name = path.relative_to(root)
            matters = root != package or name.parts[0] not in NO_MATTER
            if matters and _is_read(name) and path.is_file():
                yield f"{root.name}/{name.as_posix()}", path
    if places.RULES.is_file():
        yield places.RULES.name, places.RULES


def _is_read(name: Path) -> bool:
    return name.suffix in READ and not any(part.startswith((".", "#")) for part in name.parts)
