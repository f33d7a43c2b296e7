from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import check, shapes


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    i, j = torch.meshgrid(*[torch.arange(n, device=device)] * 2, indexing="ij")
    return torch.greater_equal(i, j)


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    check(lengths.ndim == 1, f"lengths must be 1-d to mask (batch, {n}): {shapes(lengths=lengths)}")
    j = torch.arange(n, device=lengths.device)
    return torch.less(j[None, :], lengths.to(j.dtype)[:, None])


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    real = padding_mask(lengths, n)
    past = causal_mask(n, device=lengths.device)
    return torch.logical_and(*torch.broadcast_tensors(real[:, None, :], past[None, :, :]))


def broadcasts(mask: Tensor, shape: tuple[int, ...]) -> bool:
    """numpy's rule, one way: from the right, each size is the same or 1."""
    pairs = zip(reversed(mask.shape), reversed(shape))
    return mask.ndim <= len(shape) and all(m in (1, s) for m, s in pairs)


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    check(
        broadcasts(mask, tuple(scores.shape)),
        f"mask does not broadcast to scores: {shapes(mask=mask, scores=scores)}",
    )
    scores, blocked = torch.broadcast_tensors(scores, torch.logical_not(mask))
    return torch.index_put(scores, (blocked,), scores.new_full((), -torch.inf))
