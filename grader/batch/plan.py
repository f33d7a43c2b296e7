"""What a batch is graded by, and the fingerprints that tell whether anything of it has changed."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from grader.answers import cores
from grader.chapters import Exercise, places
from grader.judging.hearing import Limits
from grader.sandbox import Isolation

# what of the kit cannot change a verdict
NO_MATTER = ("commands", "hostile", "proof", "reports", "selftest")


@dataclass(frozen=True)
class Plan:
    """What to grade by, and how.

    Attributes:
        exercises: the exercises that count.
        devices: those to run on, in order.
        seed: of the inputs.
        limits: for each submission.
        jobs: how many submissions at a time; the verdicts do not depend on it.
        isolation: the walls that are put up around submissions; None for none.
    """

    exercises: tuple[Exercise, ...]
    devices: tuple[str, ...]
    seed: int
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    isolation: Isolation | None = None

    @functools.cached_property
    def fingerprint(self) -> str:
        """All that a verdict depends on besides the submission, as a digest."""
        import torch

        says = {
            "kit": _kit(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "exercises": [exercise.full for exercise in self.exercises],
            "devices": self.devices,
            "seed": self.seed,
            "seconds": self.limits.seconds,
            "memory": self.limits.memory,
            "isolation": self.isolation.says if self.isolation else "",
        }
        return hashlib.sha256(json.dumps(says).encode()).hexdigest()


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
    for root in (package, places.SUITES):
        for path in root.rglob("*"):
            name = path.relative_to(root)
            matters = root == places.SUITES or name.parts[0] not in NO_MATTER
            if matters and path.suffix != ".pyc" and path.is_file():
                yield f"{root.name}/{name.as_posix()}", path
