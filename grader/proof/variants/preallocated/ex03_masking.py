from __future__ import annotations

import torch
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    return torch.empty((n, n), dtype=torch.bool, device=device).fill_(True).tril_()


def padding_mask(lengths: Tensor, n: int) -> Tensor:
    if lengths.ndim != 1:
        raise ValueError(
            f"lengths must be 1-d, got {lengths.ndim}-d {list(lengths.shape)} for n={n}"
        )
    mask = torch.empty((lengths.numel(), n), dtype=torch.bool, device=lengths.device)
    torch.lt(
        torch.arange(n, dtype=torch.int64, device=lengths.device),
        lengths.to(torch.int64).unsqueeze(1),
        out=mask,
    )
    return mask


def decoder_mask(lengths: Tensor, n: int) -> Tensor:
    return padding_mask(lengths, n).unsqueeze(1).repeat(1, n, 1).tril_()


def apply_mask(scores: Tensor, mask: Tensor) -> Tensor:
    try:
        keep = mask.expand(scores.shape)
    except RuntimeError as error:
        raise ValueError(
            f"cannot expand mask {list(mask.shape)} to scores {list(scores.shape)}"
        ) from error
    return scores.clone().masked_fill_(keep.logical_not(), float("-inf"))
