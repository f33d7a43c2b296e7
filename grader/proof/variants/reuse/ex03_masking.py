"""Style reuse: a causal mask is a padding mask whose lengths are 1, 2, 3, ..."""

from __future__ import annotations

import torch
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    return padding_mask(torch.arange(n, device=device) + 1, n)


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.dim() != 1:
        raise ValueError(f"The lengths are {lengths.size()}: one dimension, not {lengths.dim()}.")
    return lengths[:, None] > torch.arange(n, device=lengths.device)


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    doors = torch.zeros(*lengths.size(), n, n, device=lengths.device)
    past = apply_mask(doors, causal_mask(n, lengths.device))
    return ~apply_mask(past, padding_mask(lengths, n)[:, None, :]).isinf()


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    try:
        closed = ~mask.expand_as(scores)
    except RuntimeError:
        sentence = f"A mask of {mask.size()} is no mask for scores of {scores.size()}."
        raise ValueError(sentence) from None
    return scores.masked_fill(closed, float("-inf"))
