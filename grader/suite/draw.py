"""Inputs for the checks: drawn from a seed and the check's name, so that a re-run sees the same."""

from __future__ import annotations

import zlib

import torch
from torch import Tensor


class Draw:
    """Draws tensors of one dtype on one device.

    Numbers are drawn in float64 on the CPU and then rounded and moved, so that every device and
    dtype sees the same ones.
    """

    def __init__(
        self,
        seed: int = 0,
        name: str = "",
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.seed, self.name, self.device, self.dtype = seed, name, torch.device(device), dtype
        self._stream = torch.Generator().manual_seed(zlib.crc32(f"{seed}/{name}".encode()))

    def using(self, dtype: torch.dtype) -> Draw:
        """Return a fresh draw of the same stream in another dtype."""
        return Draw(self.seed, self.name, self.device, dtype)

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
