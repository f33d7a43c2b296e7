"""Style library: triangles, an index of the keys that each query sees, index_select."""

from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import misfit
from ex05_mixing import attention


def causal_mask_at(q: int, k: int, device: torch.device | str | None = None) -> Tensor:
    if q > k:
        raise ValueError(f"q must be at most k = {k}, not {q}")
    rows = torch.linspace(0, k - 1, k, device=device).round().split([k - q, q])[1]
    return torch.ge(rows.unsqueeze(-1), torch.linspace(0, k - 1, k, device=device).round())


def window_mask(
    q: int, k: int, window: int, sinks: int = 0, device: torch.device | str | None = None
) -> Tensor:
    if window < 1 or sinks < 0:
        raise ValueError(f"window must be positive and sinks not negative, not {window}, {sinks}")
    past = causal_mask_at(q, k, device)
    near = past.triu(k - q - window + 1)
    first = torch.nn.functional.pad(past[:, :sinks], (0, max(0, k - sinks)))
    return torch.logical_or(near, first)


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    if query.ndim < 2 or query.shape != key.shape or key.shape[:-1] != value.shape[:-1]:
        misfit("attention in windows", query, key, value)
    if window < 1:
        raise ValueError(f"window must be positive, not {window}")
    n, window = query.shape[-2], min(window, query.shape[-2])
    ends = torch.arange(n, device=query.device)
    seen = torch.outer(ends, torch.ones_like(ends[:window])) + torch.arange(1 - window, 1, device=query.device)
    picked = seen.clamp(min=0).flatten()
    keys, values = (x.index_select(-2, picked).unflatten(-2, (n, window)) for x in (key, value))
    # a batch of n attentions of one query each
    mixed = attention(query.unsqueeze(-2), keys, values, seen.ge(0).unsqueeze(-2))
    return mixed.squeeze(-2)
