"""Models that are lent whole: they run where the answer runs, for their code tells nothing."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Coin(nn.Module):
    """The smallest model that learns: two logits, whatever the words."""

    def __init__(self, device: torch.device | str) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2, device=device))

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Give every sequence the same logits."""
        return self.bias.expand(len(ids), -1)


class Bag(nn.Module):
    """A model that throws the words of a sequence into a bag: logits of the sum of their rows."""

    def __init__(self, table: Tensor, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(table), table.shape[1], _weight=table.clone())
        with torch.random.fork_rng(devices=[]):
            self.head = nn.Linear(*weight.T.shape)
        self.head.weight, self.head.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Add up the rows of the words; with lengths, take that part of the sum."""
        x: Tensor = self.embedding(ids).sum(1)
        logits: Tensor = self.head(x if lengths is None else x / lengths[:, None])
        return logits


WHOLE: dict[str, type[nn.Module]] = {"Coin": Coin, "Bag": Bag}
