"""The process that an answer runs in, as the judge holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from grader.workers.forked import Forked
    from grader.workers.spawned import Spawned

Process: TypeAlias = "Forked | Spawned"
