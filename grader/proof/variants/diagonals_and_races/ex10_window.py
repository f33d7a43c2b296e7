"""Chapter 10, along the diagonals: one for each distance, padded and stacked."""

from __future__ import annotations

from functools import reduce
from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor


def _moan(fault: bool):
    """A closure that moans with all that it is told, if there is a fault."""

    def about(**facts) -> None:
        if fault:
            told = ", ".join(f"{k} of {'·'.join(map(str, v)) if isinstance(v, tuple) else v}" for k, v in facts.items())
            raise ValueError(f"oh no: {told}")

    return about


def causal_mask_at(q: int, k: int, device: torch.device | str | None = None) -> Tensor:
    _moan(q > k)(q=q, k=k)
    return torch.full((q, k), True, dtype=torch.bool, device=device).tril_(k - q)


def window_mask(q: int, k: int, window: int, sinks: int = 0, device: torch.device | str | None = None) -> Tensor:
    _moan(window < 1)(window=window)
    _moan(sinks < 0)(sinks=sinks)
    seen = causal_mask_at(q, k, device)
    gone = seen.tril(k - q - min(window, k + 1))  # what the window has left behind
    gone[:, : min(sinks, k)] = False
    return seen ^ gone


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    shapes = {"query": tuple(query.shape), "key": tuple(key.shape), "value": tuple(value.shape)}
    _moan(window < 1)(window=window)
    _moan(min(map(len, shapes.values())) < 2)(**shapes)
    _moan(query.shape != key.shape or key.shape[:-1] != value.shape[:-1])(**shapes)
    n = query.shape[-2]
    wide = torch.promote_types(query.dtype, torch.float32)
    asks, offers, gives = (t.to(wide) for t in (query, key, value))
    reach = range(max(1, min(window, n)))

    def diagonal(back: int) -> Tensor:
        met = asks.narrow(-2, back, n - back) * offers.narrow(-2, 0, n - back)
        return F.pad(met.sum(-1) / sqrt(query.shape[-1]), (back, 0), value=-torch.inf)

    weights = torch.stack([diagonal(back) for back in reach], -1).softmax(-1).unbind(-1)

    def share(back: int) -> Tensor:
        part = weights[back][..., back:, None] * gives.narrow(-2, 0, n - back)
        return F.pad(part, (0, 0, back, 0))

    return reduce(torch.add, map(share, reach)).to(value.dtype)
