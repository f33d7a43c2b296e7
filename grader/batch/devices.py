"""Which devices to run on, from what was asked for and what is there."""

from __future__ import annotations

from grader.results import DEVICES, DeviceState


def devices_of(asked: str) -> tuple[tuple[str, ...], dict[str, DeviceState]]:
    """Return the devices to run on, and what the report says of each.

    Args:
        asked: "auto", or devices with commas between them.

    Raises:
        ValueError: an unknown device, or a cuda that is not there.
    """
    import torch

    there = torch.cuda.is_available()
    if asked == "auto":
        chosen = ("cpu", "cuda") if there else ("cpu",)
        return chosen, {"cpu": "run", "cuda": "run" if there else "absent"}
    named = named_in(asked)
    if "cuda" in named and not there:
        raise ValueError("cuda was asked for, but PyTorch sees no CUDA device here")
    return named, {name: "run" if name in named else "not asked" for name in DEVICES}


def named_in(asked: str) -> tuple[str, ...]:
    """Return the devices that are named, whether they are there or not.

    Raises:
        ValueError: an unknown device.
    """
    named = tuple(dict.fromkeys(part.strip() for part in asked.split(",")))
    unknown = [part for part in named if part not in DEVICES]
    if unknown:
        raise ValueError(f"there is no device `{unknown[0]}`: cpu, cuda, cpu,cuda or auto")
    return named
