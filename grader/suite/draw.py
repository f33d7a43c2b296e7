"""Inputs for the checks: drawn from a seed and the check's name, so that a re-run sees the same."""

from __future__ import annotations

import contextlib
import hashlib

import torch
from torch import Tensor


def derived(seed: int, *names: object) -> int:
    """Return a seed of 63 bits that tells nothing of the one that it comes from."""
    told = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big") >> 1


def aside() -> contextlib.AbstractContextManager[None]:
    """Let a suite initialise modules of its own without using up the answer's random numbers."""
    return torch.random.fork_rng(devices=[])


class Draw:
    """Draws tensors of one dtype on one device.

    Numbers are drawn in float64 on the CPU and then rounded and moved, so that every device and
    dtype sees the same ones.

    Attributes:
        device: where the suite's tensors are.
        place: the device that the answer works on. It is another one only if the answer runs in a
            process of its own, which moves what it is handed.
    """

    def __init__(
        self,
        seed: int = 0,
        name: str = "",
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        place: str | torch.device | None = None,
    ) -> None:
        self.seed, self.name, self.device, self.dtype = seed, name, torch.device(device), dtype
        self.place = torch.device(place or device)
        self._stream = torch.Generator().manual_seed(derived(seed, name))

    def using(self, dtype: torch.dtype) -> Draw:
        """Return a fresh draw of the same stream in another dtype."""
        return Draw(self.seed, self.name, self.device, dtype, self.place)

    def generator(self, label: object) -> torch.Generator:
        """Make a generator on the device; the same label, the same numbers."""
        return torch.Generator(self.device).manual_seed(derived(self.seed, self.name, label))

    def tensor(self, values: object, dtype: torch.dtype | None = None) -> Tensor:
        """Put literal `values` on the device, by default in this draw's dtype."""
        return torch.tensor(values, dtype=dtype or self.dtype, device=self.device)

    def __call__(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Draw a normal tensor whose standard deviation is `scale`."""
        return self._put(scale * torch.randn(shape, generator=self._stream, dtype=torch.float64))

    def weights(self, *shape: int) -> Tensor:
        """Draw positive rows that sum to 1 over the last dimension."""
        powers = torch.exp(torch.randn(shape, generator=self._stream, dtype=torch.float64))
        return self._put(powers / powers.sum(-1, keepdim=True))

    def mask(self, *shape: int) -> Tensor:
        """Draw a boolean mask with about a third closed and at least one open door in each row."""
        chance = torch.rand(shape, generator=self._stream)
        return ((chance > 0.33) | (chance == chance.amax(-1, keepdim=True))).to(self.device)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Draw whole numbers with low <= number < high, as int64."""
        return torch.randint(low, high, shape, generator=self._stream).to(self.device)

    def _put(self, values: Tensor) -> Tensor:
        return values.to(self.dtype).to(self.device)
