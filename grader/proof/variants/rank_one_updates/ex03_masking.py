"""Chapter 3. Masks by index arithmetic."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    # entry number l of an n by n table stands in row l div n and column l mod n
    side = max(n, 1)
    number = torch.arange(n * n, device=device)
    row = torch.div(number, side, rounding_mode="floor")
    col = number - row * side
    return (row - col >= 0).reshape(n, n)


def _real(lengths, n):
    """One flag per sequence and position, False from the first padded position on."""
    if lengths.dim() != 1:
        raise ValueError(
            f"lengths must have one subscript, but is lengths{tuple(lengths.shape)}; n = {n}"
        )
    batch = lengths.shape[0]
    # put a stone where the padding begins and count the stones passed so far
    stone = torch.zeros(batch, n + 1, dtype=torch.int64, device=lengths.device)
    stone = stone.scatter(1, lengths.to(torch.int64).clamp(0, n)[:, None], 1)
    return stone.cumsum(1)[:, :n] == 0


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    return _real(lengths, n)


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    real = _real(lengths, n)
    return real[:, None, :] & causal_mask(n, lengths.device)[None, :, :]


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    extra = scores.dim() - mask.dim()
    fits = extra >= 0
    if fits:
        for axis in range(mask.dim()):
            if mask.shape[axis] != 1 and mask.shape[axis] != scores.shape[axis + extra]:
                fits = False
    if not fits:
        raise ValueError(
            f"mask{tuple(mask.shape)} does not broadcast to scores{tuple(scores.shape)}"
        )
    shut = torch.full_like(scores, -float("inf"), requires_grad=False)
    return torch.where(mask.expand(scores.shape), scores, shut)
