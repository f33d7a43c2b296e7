"""Inputs for the checks: drawn from a seed and the check's name, so that a re-run sees the same."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from grader import devices

_STREAMS: list[np.random.RandomState] = []


def derived(seed: int, *names: object) -> int:
    """Return a seed of 63 bits that tells nothing of the one that it comes from."""
    told = "/".join(map(str, (seed, *names)))
    return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big") >> 1


def aside() -> contextlib.AbstractContextManager[None]:
    """Let a suite initialise modules of its own without using up the answer's random numbers."""
    return torch.random.fork_rng(devices=[])


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Let torch have another default dtype inside."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Draw:
    """Draws tensors of one dtype on one device.

    Numbers are drawn in float64 on the CPU and then rounded and moved, so that every device and
    dtype sees the same ones. They come from NumPy's old generator, whose stream is promised never
    to change: what was recorded with one version holds with the next.

    Attributes:
        device: where the suite's tensors are.
        place: the device that the answer works on. It is another one only if the answer runs in a
            process of its own, which moves what it is handed.
        whole: None, or the largest of the whole numbers that are drawn instead of normal ones,
            eight apart: products and sums of few of them are exact in every dtype.
    """

    def __init__(
        self,
        seed: int = 0,
        name: str = "",
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
        place: str | torch.device | None = None,
        whole: int | None = None,
    ) -> None:
        self.seed, self.name, self.device, self.dtype = seed, name, torch.device(device), dtype
        self.place = torch.device(place or device)
        self.whole = whole
        # to make a new one costs ten times as much as to seed it
        self._stream = _STREAMS.pop() if _STREAMS else np.random.RandomState(0)
        self._stream.seed(derived(seed, name) & 0xFFFFFFFF)

    def __del__(self) -> None:
        _STREAMS.append(self._stream)

    def using(self, dtype: torch.dtype, whole: int | None = None) -> Draw:
        """Return a fresh draw of the same stream in another dtype."""
        return Draw(self.seed, self.name, self.device, dtype, self.place, whole)

    def apart(self, name: str) -> Draw:
        """Return a draw of numbers of its own, that takes none of this one's."""
        return Draw(self.seed, f"{self.name}/{name}", self.device, self.dtype, self.place)

    def generator(self, label: object) -> torch.Generator:
        """Make a generator on the device; the same label, the same numbers."""
        self.require("generator")
        return torch.Generator(self.device).manual_seed(derived(self.seed, self.name, label))

    def tensor(self, values: object, dtype: torch.dtype | None = None) -> Tensor:
        """Put literal `values` on the device, by default in this draw's dtype."""
        self.require(str(dtype or self.dtype).removeprefix("torch."))
        return torch.tensor(values, dtype=dtype or self.dtype, device=self.device)

    def __call__(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Draw a normal tensor whose standard deviation is `scale`."""
        if self.whole is not None:
            steps = self.whole // 8
            return self._put(8.0 * self._stream.randint(-steps, steps + 1, shape))
        return self._put(scale * self._stream.standard_normal(shape))

    def distinct(self, *shape: int) -> Tensor:
        """Draw numbers from -4 to 4, no two of a row alike, nor in any dtype: 256 at most."""
        ranks = self._stream.random_sample((*shape[:-1], 256)).argsort(-1)
        return self._put((ranks[..., : shape[-1]] - 127.5) / 32)

    def weights(self, *shape: int) -> Tensor:
        """Draw positive rows that sum to 1 over the last dimension."""
        powers = np.exp(self._stream.standard_normal(shape))
        return self._put(powers / powers.sum(-1, keepdims=True))

    def mask(self, *shape: int) -> Tensor:
        """Draw a boolean mask: about a third is False, and of each row at least one is True."""
        chance = self._stream.random_sample(shape)
        kept = (chance > 0.33) | (chance == chance.max(-1, keepdims=True))
        return torch.as_tensor(kept, device=self.device)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Draw whole numbers with low <= number < high, as int64."""
        drawn = self._stream.randint(low, high, shape)
        return torch.as_tensor(np.asarray(drawn, dtype=np.int64), device=self.device)

    def one_of(self, choices: Sequence[int]) -> int:
        """Draw one of some numbers."""
        return choices[int(self._stream.randint(len(choices)))]

    def _put(self, values: object) -> Tensor:
        # rounded first: a device may have no float64
        rounded = torch.as_tensor(np.asarray(values, dtype=np.float64)).to(self.dtype)
        if self.device.type == "cpu":
            return rounded
        self.require(str(self.dtype).removeprefix("torch."))
        return rounded.to(self.device)

    def require(self, what: str) -> None:
        """Leave the check where the device does not have what it needs.

        Raises:
            NotHere: so it is.
        """
        if self.device.type != "cpu" and what in devices.lacks(str(self.device)):
            raise devices.NotHere(what, str(self.device))
