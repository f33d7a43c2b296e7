from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import spelled


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    # Query i sees what a sequence of i + 1 real tokens holds.
    return padding_mask(torch.arange(1, n + 1, device=device), n)


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.dim() != 1:
        raise ValueError(f"for n={n} positions, lengths is {spelled(lengths)} and not a vector")
    return torch.arange(n, device=lengths.device) < lengths.long().unsqueeze(-1)


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    # Query i of sequence b sees min(i + 1, lengths[b]) tokens: padding once more.
    if lengths.dim() != 1:
        return padding_mask(lengths, n)  # which refuses
    upto = torch.arange(1, n + 1, device=lengths.device)
    seen = torch.minimum(lengths.long().unsqueeze(-1), upto)
    return padding_mask(seen.flatten(), n).unflatten(0, seen.shape)


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    try:
        fits = torch.broadcast_shapes(scores.shape, mask.shape) == scores.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(f"the mask is {spelled(mask)}, what it should mask {spelled(scores)}")
    return torch.where(mask, scores, -torch.inf)
