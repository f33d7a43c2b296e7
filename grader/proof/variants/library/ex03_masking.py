"""Style library: tril_indices, counted ones and masked_scatter."""

from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import misfit


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    mask = torch.zeros((n, n), dtype=torch.bool, device=device)
    rows, columns = torch.tril_indices(n, n, device=mask.device)
    mask[rows, columns] = True
    return mask


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.ndim != 1:
        misfit("j < lengths", lengths)
    counted = torch.ones(len(lengths), n, dtype=torch.long, device=lengths.device).cumsum(-1)
    return counted.le(lengths.unsqueeze(-1))


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    real = padding_mask(lengths, n)
    return real.unsqueeze(-2).expand(-1, n, -1).tril()


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    try:
        doors = torch.broadcast_to(mask, scores.shape)
    except RuntimeError:
        misfit("masked scores", scores, mask)
    # only what passes the doors is copied
    closed = torch.full_like(scores, -torch.inf)
    return closed.masked_scatter(doors, scores.masked_select(doors))
