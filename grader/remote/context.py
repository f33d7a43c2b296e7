"""A worker's context on its device: what memory it may take, and whether it still works."""

from __future__ import annotations

from typing import Any

import torch

from grader import devices


def bound(device: str, megabytes: int) -> None:
    """Let a worker take so much of its device's memory.

    That binds torch's allocator alone: what the context itself takes, or a library that asks the
    driver, is not counted.
    """
    module = _module(device)
    limit = getattr(module, "set_per_process_memory_fraction", None)
    whole = _whole(module)
    if limit is not None and whole:
        limit(min(1.0, megabytes * 2**20 / whole))


def free(device: str) -> int:
    """Return how many megabytes of a device's memory nobody has taken; 0 where that is unknown."""
    asked = getattr(_module(device), "mem_get_info", None)
    return 0 if asked is None else int(asked()[0] // 2**20)


def wait(device: str) -> None:
    """Wait until a device has done what it was asked for: only then does it tell of errors."""
    if device == devices.CPU:
        return
    done = getattr(_module(device), "synchronize", None)
    if done is not None:
        done()


def _module(device: str) -> Any:
    return torch.get_device_module(devices.kind(device))


def _whole(module: Any) -> int:
    if hasattr(module, "recommended_max_memory"):  # Apple's
        return int(module.recommended_max_memory())
    if hasattr(module, "get_device_properties"):
        return int(getattr(module.get_device_properties(0), "total_memory", 0))
    return 0
