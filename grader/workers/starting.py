"""Choosing how workers are started: forked from a nursery on Linux, afresh elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.sandbox import Isolation
    from grader.workers.forked import Starter


def starter_on_gpu(isolation: Isolation | None = None, hidden: Sequence[Path] = ()) -> Starter:
    """Return what starts workers that use a GPU, and no others."""
    if sys.platform == "linux":
        from grader.workers.forked import Nursery

        return Nursery(isolation, hidden, gpu=True)
    from grader.workers.spawned import Spawner

    return Spawner()


def starter_for(
    isolation: Isolation | None = None,
    hidden: Sequence[Path] = (),
    on_gpu: Isolation | None = None,
) -> Starter:
    """Return what starts workers here.

    Args:
        isolation: the walls that are put up around them; None for none but those of a process.
        hidden: what they must not read even where it lies under what they may.
        on_gpu: the walls of those on a GPU; None: the same as of those on the CPU.
    """
    if sys.platform == "linux":
        from grader.workers.forked import Nurseries

        return Nurseries(isolation, hidden, on_gpu or isolation)
    from grader.workers.spawned import Spawner

    return Spawner()
