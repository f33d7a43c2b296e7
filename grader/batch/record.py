"""What a results file says of its last run: how it was graded, where, and who was in the batch."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader import __version__
from grader.batch.devices import Usable
from grader.batch.plan import GradingPlan
from grader.batch.shard import Shard
from grader.results import DeviceState, Earlier


@dataclass(frozen=True)
class Record:
    """A run, but for its results.

    Attributes:
        version: of the kit.
        torch: the version of PyTorch.
        seed: of the inputs.
        devices: which were run.
        isolation: how submissions were shut in, as reports say it.
        settings: all that parts of one run must share.
        machine: what may differ between them.
        shard: which part of the batch was graded.
        batch: the keys of all submissions of the batch, by identities, in order.
        earlier: whose earlier chapters later ones were graded over.
        reasons: why a device that is there was not run.
        in_vain: those of them that were asked for by name.
        passed_over: the names of what lay beside submissions and is nobody's.
        course: the name of the file of a course's rules that scores went by, or nothing.
        duplicates: what counted of a student who had handed in more than once, or nothing.
    """

    version: str
    torch: str
    seed: int
    devices: dict[str, DeviceState]
    isolation: str
    settings: dict[str, str]
    machine: dict[str, str]
    shard: Shard
    batch: dict[str, str]
    earlier: Earlier
    reasons: dict[str, str]
    in_vain: tuple[str, ...]
    passed_over: tuple[str, ...]
    course: str
    duplicates: str = ""

    @property
    def exercises(self) -> list[str]:
        """The full names of the exercises that were graded."""
        return self.settings["exercises"].split(", ")

    @property
    def wanted(self) -> list[str]:
        """The identities of the part, in order."""
        return [identity for identity, key in self.batch.items() if self.shard.holds(key)]


def record_of(
    plan: GradingPlan,
    said: Mapping[str, DeviceState],
    usable: Usable,
    shard: Shard,
    batch: Mapping[str, str],
    passed_over: Sequence[str],
    course: str,
    duplicates: str,
) -> Record:
    """Put together what is to be known of a run when it is merged with others."""
    import torch

    isolation = usable.says(plan.isolation)
    states = ", ".join(f"{device} {state}" for device, state in said.items())
    machine = {
        "Python": platform.python_version(),
        "system": platform.platform(),
        "isolation": isolation,
    }
    return Record(
        __version__, torch.__version__, plan.seed, dict(said), isolation,
        {**plan.settings, "devices": states}, machine, shard, dict(batch),
        plan.earlier, usable.reasons, usable.in_vain, tuple(passed_over),
        course, duplicates,
    )  # fmt: skip
