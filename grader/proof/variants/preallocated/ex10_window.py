from __future__ import annotations

import torch
from torch import Tensor

from ex05_mixing import attention


def causal_mask_at(q: int, k: int, device: torch.device | str | None = None) -> Tensor:
    past = k - q
    if past < 0:
        raise ValueError(f"q must be at most k, got q={q} and k={k}")
    mask = torch.ones(q, k, dtype=torch.bool, device=device)
    mask[:, past:].tril_()
    return mask


def window_mask(
    q: int, k: int, window: int, sinks: int = 0, device: torch.device | str | None = None
) -> Tensor:
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    if sinks < 0:
        raise ValueError(f"sinks must be at least 0, got {sinks}")
    mask = causal_mask_at(q, k, device)
    mask[:, sinks:].triu_(k - q - sinks - window + 1)
    return mask


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    parts = {"query": query, "key": key, "value": value}
    sizes = ", ".join(f"{name} {list(part.shape)}" for name, part in parts.items())
    if any(part.ndim < 2 for part in parts.values()):
        raise ValueError(f"all three must be at least 2-d, got {sizes}")
    if len({part.shape[:-1] for part in parts.values()}) > 1 or query.shape != key.shape:
        raise ValueError(f"all three must have the same batch and positions, got {sizes}")
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    n = query.shape[-2]
    # longer blocks than the window, where that is short: fewer steps
    step = max(window, 16)
    out = query.new_empty(*value.shape)
    for first in range(0, n, step):
        last = min(first + step, n)
        begin = max(0, first - window + 1)
        mask = window_mask(last - first, last - begin, window, device=query.device)
        keys, values = key[..., begin:last, :], value[..., begin:last, :]
        out[..., first:last, :] = attention(query[..., first:last, :], keys, values, mask)
    return out
