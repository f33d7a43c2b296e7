"""Inside, a mask is a penalty: the logarithm of 1 where a query may look, that of 0 elsewhere."""

from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import SizeError


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    penalty = torch.full((n, n), -torch.inf, device=device).triu(1)
    return penalty.isneginf().logical_not()


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.dim() != 1:
        raise SizeError(f"wanted one vector of lengths up to {n}", lengths=lengths)
    left = lengths.long()[:, None] - torch.arange(n, device=lengths.device)
    return left.sign() == 1


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.dim() != 1:
        raise SizeError(f"wanted one vector of lengths up to {n}", lengths=lengths)
    ahead = penalty(causal_mask(n, lengths.device))
    filler = penalty(padding_mask(lengths, n))
    return (filler[:, None, :] + ahead).exp().bool()


def penalty(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    return mask.to(dtype).log()


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    grown = mask.dim() > scores.dim()
    if grown or any(m not in (1, s) for m, s in zip(mask.shape[::-1], scores.shape[::-1])):
        raise SizeError("wanted a mask that broadcasts to the scores", mask=mask, scores=scores)
    fine = penalty(mask, scores.dtype)
    # The sum alone would do, had no masked score overflowed to +inf.
    return torch.where(fine.isneginf(), fine, scores + fine)
