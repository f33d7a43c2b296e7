"""A cache of lists, for drawings and questions that hand one to an answer."""

from __future__ import annotations

import torch
from torch import Tensor


class RowsSoFar:
    """Keeps whatever comes: no capacity, no buffer, and nothing is refused."""

    def __init__(self) -> None:
        self.reset()

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Put rows behind the others, and return all."""
        self._pieces.append((key, value))
        self.length += key.shape[-2]
        keys, values = zip(*self._pieces, strict=True)
        return torch.cat(keys, -2), torch.cat(values, -2)

    def reset(self) -> None:
        """Forget all rows."""
        self.length = 0
        self._pieces: list[tuple[Tensor, Tensor]] = []
