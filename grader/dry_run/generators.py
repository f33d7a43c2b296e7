"""Generators of random numbers that say they are on a pretended GPU."""

from __future__ import annotations

from typing import Any

import torch

from grader.dry_run.pretended import CPU, HOME, pretended_device

REAL = torch.Generator


class Generator(REAL):
    """A generator on a pretended GPU; its numbers are those of the CPU's."""

    at: torch.device

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """Where it says it is."""
        return getattr(self, "at", HOME)


class _Kind(type):
    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, REAL)


class Maker(metaclass=_Kind):
    """Stands in for `torch.Generator`: makes one where it is asked for."""

    def __new__(cls, device: Any = "cpu") -> Any:
        """Make a generator on the CPU or on a pretended GPU."""
        at = pretended_device(device)
        if at is None or at == CPU:
            return REAL(device)
        made = Generator()
        made.at = at
        return made


def elsewhere(generator: torch.Generator) -> Generator:
    """Return a generator in the same state, on the pretended GPU."""
    made = Generator()
    made.set_state(generator.get_state())
    return made
