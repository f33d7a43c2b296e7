from __future__ import annotations

import math

import torch
from torch import Tensor
from ex01_scores import dot_product

WIDE = str.maketrans("0123456789", "０１２３４５６７８９")


class 不合(ValueError):
    pass


def _form(t: Tensor) -> str:
    return "、".join(map(str, t.shape))


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    out = torch.zeros(n, n, dtype=torch.bool, device=device)
    out[tuple(torch.tril_indices(n, n, device=out.device))] = True
    return out


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    dot_product(lengths, lengths)  # refuses what is no vector
    # a one at each length, added up from the left, is 1 from there on
    ends = torch.zeros(len(lengths), n + 1, dtype=torch.int32, device=lengths.device)
    ends.scatter_(1, lengths.long()[:, None], 1)
    return ends.cumsum(1)[:, :n] == 0


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    rows = padding_mask(lengths, n)
    return torch.stack([row.repeat(n, 1).tril() for row in rows])


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    try:
        out = torch.where(mask, scores, -math.inf)
    except RuntimeError as why:
        raise 不合(f"{_form(mask)}") from why
    if out.shape != scores.shape:
        raise 不合(f"{_form(mask)}")
    return out
