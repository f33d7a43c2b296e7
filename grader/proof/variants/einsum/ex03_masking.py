"""Style einsum: masks out of tril and outer comparisons, applied with torch.where."""

from __future__ import annotations

import torch
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    return torch.tril(torch.ones(n, n, dtype=torch.bool, device=device))


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.dim() != 1:
        raise ValueError(f"one length per sequence, please, not a tensor of {list(lengths.shape)}")
    places = torch.arange(n, device=lengths.device)
    return torch.lt(places.unsqueeze(0), lengths.unsqueeze(1))


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    past = causal_mask(n, lengths.device).to(torch.uint8)
    real = padding_mask(lengths, n).to(torch.uint8)
    return torch.einsum("ij,bj->bij", past, real).to(torch.bool)


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    ours, theirs = list(scores.shape), list(mask.shape)
    padded = [1] * (len(ours) - len(theirs)) + theirs
    if len(padded) != len(ours) or any(m not in (1, s) for m, s in zip(padded, ours, strict=True)):
        raise ValueError(f"a mask of {theirs} does not spread over scores of {ours}")
    return torch.where(mask, scores, float("-inf"))
