"""Which devices to run on, from what was asked for and what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader import devices
from grader.hearings.probe import try_out
from grader.results import DEVICES, DeviceState
from grader.sandbox import Isolation


@dataclass(frozen=True)
class Usable:
    """Which devices can be used, and within which walls.

    Attributes:
        devices: those that work.
        on_gpu: the walls there; None: the machine's.
        walls: which had to come down and why, a device each.
        reasons: why a device works within no walls at all.
        sentences: what a submission is not kept from, and what does not work.
        most: how many submissions at a time a device has memory for; None where it is unknown.
        in_vain: what does not work though it was asked for by name.
    """

    devices: tuple[str, ...]
    on_gpu: Isolation | None = None
    walls: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()
    most: int | None = None
    in_vain: tuple[str, ...] = ()

    def jobs(self, wanted: int) -> int:
        """Return how many submissions to grade at a time: each has a share of a device's memory."""
        return wanted if self.most is None else min(wanted, self.most)

    def says(self, isolation: Isolation | None) -> str:
        """Return the walls in one line, for a report."""
        return "; ".join([isolation.says if isolation else "", *self.walls])


def try_devices(
    chosen: Sequence[str], isolation: Isolation, memory: int, *, by_name: bool
) -> Usable:
    """Compute a little on each device but the CPU, within the walls that submissions get there.

    Args:
        chosen: the devices.
        isolation: the walls of this machine.
        memory: megabytes that a worker may take.
        by_name: whether they were asked for by their names.
    """
    works, walls, reasons, most = [], [], {}, None
    lowest, missing = isolation, isolation.missing
    for name in chosen:
        if name == devices.CPU:
            works.append(name)
            continue
        rung = try_out(name, lowest, (Path.home(),), memory)
        if rung.isolation is None:
            reasons[name] = rung.why
            continue
        works.append(name)
        if rung.free:
            most = min(most or rung.free, max(1, rung.free // memory))
        if rung.down:
            walls.append(f"on {name} without {rung.says}, for within them: {rung.why}")
        lowest = rung.isolation
        missing = lowest.missing_with_gpu
    broken = [f"{name}: not run: {why}" for name, why in reasons.items()]
    on_gpu = None if lowest == isolation else lowest
    return Usable(
        tuple(works), on_gpu, tuple(walls), reasons, (*missing, *walls, *broken),
        most=most, in_vain=tuple(reasons) if by_name else (),
    )  # fmt: skip


def devices_of(asked: str) -> tuple[tuple[str, ...], dict[str, DeviceState]]:
    """Return the devices to run on, and what the report says of each.

    Args:
        asked: "auto", or devices with commas between them.

    Raises:
        ValueError: an unknown device, or one that is not there.
    """
    if asked == "auto":
        there = "cuda" in devices.there()
        chosen = ("cpu", "cuda") if there else ("cpu",)
        return chosen, {"cpu": "run", "cuda": "run" if there else "absent"}
    named = named_in(asked)
    for name in named:
        devices.require(name)
    return named, {
        name: "run" if name in named else "not asked" for name in dict.fromkeys((*DEVICES, *named))
    }


def named_in(asked: str) -> tuple[str, ...]:
    """Return the devices that are named, whether they are there or not.

    Raises:
        ValueError: what nobody could mean.
    """
    named = tuple(dict.fromkeys(part.strip() for part in asked.split(",")))
    for name in named:
        if name not in (devices.CPU, *devices.OF_TORCH):
            devices.require(name)
    return named
