"""Chapter 3, in lists of Python's own booleans."""

from __future__ import annotations

import torch
from torch import Tensor


class MaskMisfit(ValueError):
    """A mask, or the lengths for one, that does not fit."""


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    """Row by row: i + 1 times yes, then no."""
    table = [[True] * (i + 1) + [False] * (n - i - 1) for i in range(n)]
    return torch.tensor(table, dtype=torch.bool, device=device).reshape(n, n)


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    """Row by row: as often yes as the length says, then no."""
    try:
        (batch,) = lengths.shape
    except ValueError as error:
        raise MaskMisfit(f"lengths has {lengths.ndim} dimensions, {tuple(lengths.shape)}.") from error
    table = []
    for length in lengths.tolist():
        table.append([position < length for position in range(n)])
    return torch.tensor(table, dtype=torch.bool, device=lengths.device).reshape(batch, n)


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    """Sequence by sequence: the triangle, with the padding's columns emptied."""
    triangle = causal_mask(n, device=lengths.device)
    out = [triangle.new_empty(0, n, n)]
    for real in padding_mask(lengths, n):
        out.append((triangle & real.expand(n, n))[None])
    return torch.cat(out)


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    """Grow the mask first: torch refuses to grow what does not fit."""
    try:
        grown = mask.expand(scores.shape)
    except RuntimeError as error:
        raise MaskMisfit(f"mask {tuple(mask.shape)} cannot become {tuple(scores.shape)}.") from error
    width = scores.shape[-1]
    rows = []
    for row, may in zip(scores.reshape(-1, width), grown.reshape(-1, width)):
        rows.append(row.masked_fill(may.logical_not(), float("-inf")))
    return torch.stack(rows).reshape(scores.shape)
