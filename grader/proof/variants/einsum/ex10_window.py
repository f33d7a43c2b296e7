"""Style einsum: the place in the window is one more letter, and no mask is larger than it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ex02_scaling import scale_scores
from ex03_masking import apply_mask
from ex04_softmax import softmax


def causal_mask_at(q: int, k: int, device: torch.device | str | None = None) -> Tensor:
    if q > k:
        raise ValueError(f"{q} queries cannot be the last of {k} keys")
    return torch.ones(q, k, dtype=torch.bool, device=device).tril(k - q)


def window_mask(
    q: int, k: int, window: int, sinks: int = 0, device: torch.device | str | None = None
) -> Tensor:
    if window < 1:
        raise ValueError(f"a window of {window} shows nothing")
    if sinks < 0:
        raise ValueError(f"sinks={sinks} cannot be counted")
    mask = causal_mask_at(q, k, device)
    # what is in the triangle, and neither below the band nor beside the sinks
    far = mask.tril(k - q - window)
    far[:, :sinks] = False
    return mask ^ far


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    shapes = [list(part.shape) for part in (query, key, value)]
    if query.dim() < 2 or not query.shape[:-1] == key.shape[:-1] == value.shape[:-1]:
        raise ValueError(f"'...ne', '...ne' and '...nv' do not fit {shapes}")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"'e' is the same in query and key; here: {shapes}")
    if window < 1:
        raise ValueError(f"a window of {window} shows nothing")
    n = query.shape[-2]
    window = min(window, n)

    def windows(x: Tensor) -> Tensor:
        return F.pad(x, (0, 0, window - 1, 0)).unfold(-2, window, 1)

    scores = scale_scores(torch.einsum("...ne,...new->...nw", query, windows(key)), key.shape[-1])
    back = torch.arange(window - 1, -1, -1, device=query.device)
    real = back <= torch.arange(n, device=query.device)[:, None]
    weights = softmax(apply_mask(scores, real))
    return torch.einsum("...nw,...nvw->...nv", weights, windows(value))
