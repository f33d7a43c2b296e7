"""Chapter 13: rows whose root of the mean square is whole, and shares that are powers of 2."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from grader.coach.rows_so_far import RowsSoFar

# the mean of the squares is 25, and that of (8, 8, 8, 8) is 64
ROW = torch.tensor([1.0, 7.0, 1.0, 7.0])
FIVES = torch.full((4,), 5.0)
# takes (1, 7, 1, 7) to (7, 1, 7, 1)
SWAP = torch.eye(4)[[1, 0, 3, 2]]


def _norms(norm: Any) -> list[Tensor]:
    x = torch.stack([ROW, -2 * ROW, torch.tensor([4.0, 4.0, -4.0, 4.0]), torch.zeros(4)])
    return [norm(x, FIVES), norm(x, torch.tensor([5.0, 10.0, 0.0, -5.0])), norm(x[0], FIVES, 0.0),
            norm(x[3:], FIVES, 0.25)]  # fmt: skip


def _put(module: nn.Module, weights: dict[str, Tensor]) -> nn.Module:
    with torch.no_grad():
        for name, weight in weights.items():
            module.get_parameter(name).copy_(weight)
    return module


def _attention(at: str = "") -> dict[str, Tensor]:
    """Let all keys be zeros, so that a word gets the mean of what it sees."""
    made = {"w_q": torch.eye(4), "w_k": torch.zeros(2, 4), "w_v": torch.eye(4)[:2], "w_o": SWAP}
    return {f"{at}attention.{name}.weight": weight for name, weight in made.items()}


def _block(kind: Any) -> list[Tensor]:
    """Look at one branch after the other; silu lets 28 through as it is."""
    gated = {"norm_2": FIVES, "gate.weight": torch.tensor([[0.0, 4, 0, 0], [0.0, 0, 0, -4]]),
             "up.weight": torch.tensor([[1.0, 0, 0, 0], [0.0, 1, 0, 0]]),
             "down.weight": torch.tensor([[1.0, 0], [0, 3], [0, 0], [2, 1]])}  # fmt: skip
    attention = {"norm_1": FIVES, **_attention()}
    none = {"down.weight": torch.zeros(4, 2)}
    x = torch.stack([ROW, -ROW, ROW])
    with torch.no_grad():
        seen = _put(kind(4, 2, 1, 2), {**attention, **none})
        heard = _put(kind(4, 2, 1, 2), {**gated, "attention.w_o.weight": torch.zeros(4, 4)})
        cache = RowsSoFar()
        return [3 * seen(x), heard(x), 3 * seen(x[:2], cache), 3 * seen(x[2:], cache)]


def _decoder(kind: Any) -> list[Tensor]:
    model = kind(3, 4, 2, 2, 1)
    weights = {"embedding.weight": torch.stack([ROW, -ROW, 2 * ROW]), "norm": FIVES,
               "head.weight": torch.eye(4)[:3] + 2 * torch.eye(4)[1:]}  # fmt: skip
    for at in ("blocks.0.", "blocks.1."):
        none = {f"{at}down.weight": torch.zeros(4, 16), f"{at}norm_1": FIVES}
        weights |= {**_attention(at), **none}
    _put(model, weights)
    caches = [RowsSoFar(), RowsSoFar()]
    ids = torch.tensor([[0, 0, 0], [1, 1, 1]])
    with torch.no_grad():
        return [model(ids), model(ids[:, :2], caches), model(ids[:, 2:], caches)]


def _loss(loss: Any) -> list[Tensor]:
    shares = torch.tensor([[[1.0, 2, 1], [5, 2, 1], [3, 4, 1]], [[4, 2, 2], [1, 6, 1], [1, 1, 2]]])
    ids = torch.tensor([[0, 1, 2], [2, 1, 0]])
    return [
        4 * loss(shares.log(), ids) / math.log(2),
        2 * loss(shares[:1].log(), ids[:1]) / math.log(2),
    ]


class _Counts(nn.Module):
    """After word i comes word i + 1, and then all words before it, less and less likely."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([nn.Identity()])

    def forward(self, ids: Tensor, caches: list[RowsSoFar] | None = None) -> Tensor:
        """Score the next words by all that the cache holds."""
        rows = ids[..., None].float()
        if caches is not None:
            caches[0].update(rows, rows)
        return -10.0 * ((torch.arange(7) - ids[..., None] - 1) % 7)


def _writes(write: Any) -> list[Tensor]:
    ids = torch.tensor([[3, 1], [2, 5]])
    drawn = torch.Generator().manual_seed(1)
    return [
        write(_Counts(), ids, 4),
        write(_Counts(), ids, 0),
        write(_Counts(), ids, 3, 0.1, drawn),
    ]


QUESTIONS = {
    "rms_norm": _norms,
    "DecoderBlock": _block,
    "Decoder": _decoder,
    "next_token_loss": _loss,
    "generate": _writes,
}
