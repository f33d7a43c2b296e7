"""Chapter 3: masking."""

from __future__ import annotations

import itertools

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ex01_scores import Argument, Misfit, spell


class MaskMisfit(Misfit):
    """A mask that would not lie on the scores."""


def require_broadcast(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a mask that cannot be laid on `shape` without changing it."""
    pairs = itertools.zip_longest(reversed(mask.shape), reversed(shape))
    for pair in pairs:
        match pair:
            case (None, _) | (1, int()):
                continue
            case (int(have), int(want)) if have == want:
                continue
            case _:
                raise MaskMisfit(
                    "mask", spell(mask), f"it has to broadcast to {spell(tuple(shape))}"
                )


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    mask = torch.zeros(n, n, dtype=torch.bool, device=device)
    for query in range(n):
        mask[query, : query + 1] = True
    return mask


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    batch = Argument("lengths", lengths).vector()
    mask = torch.zeros(batch, n, dtype=torch.bool, device=lengths.device)
    for row, length in zip(mask, lengths.tolist(), strict=True):
        row[:length] = True
    return mask


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    Argument("lengths", lengths).vector()
    causal = causal_mask(n, lengths.device)
    return torch.stack([causal.logical_and(real) for real in padding_mask(lengths, n)])


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    require_broadcast(mask, scores.shape)
    return scores.masked_fill(mask.logical_not(), -torch.inf)
