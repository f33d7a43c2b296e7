from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool, device=device)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.dim() != 1:
        raise ValueError(
            f"lengths should be a vector but lengths.dim() is {lengths.dim()}, "
            f"shape is {lengths.shape}, n is {n}"
        )
    rows = []
    for length in lengths.tolist():
        real = torch.ones(length, dtype=torch.bool, device=lengths.device)
        row = F.pad(real, (0, n - length), value=False)
        rows.append(row)
    mask = torch.stack(rows)
    return mask


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    real = padding_mask(lengths, n)
    causal = causal_mask(n, device=lengths.device)
    batch = lengths.size(0)
    masks = []
    for b in range(batch):
        masks.append(causal & real[b])
    return torch.stack(masks)


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    message = f"mask of shape {mask.shape} does not broadcast to scores of shape {scores.shape}"
    if mask.dim() > scores.dim():
        raise ValueError(message)
    for i in range(1, mask.dim() + 1):
        if mask.size(-i) != 1 and mask.size(-i) != scores.size(-i):
            raise ValueError(message)
    not_allowed = ~mask
    masked = scores.masked_fill(not_allowed, -torch.inf)
    return masked
