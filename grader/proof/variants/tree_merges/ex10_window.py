from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from ex01_scores import dot_product_scores
from torch.utils.checkpoint import checkpoint

ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def _first(t: Tensor) -> Tensor:
    return t[..., :1, :] if t.ndim > 1 else t


def _look(query: Tensor, key: Tensor, value: Tensor) -> None:
    """What does not fit is refused by chapter 1, which is given one row, or one column, of each."""
    dot_product_scores(_first(query), _first(key))
    dot_product_scores(_first(key.mT), _first(value.mT if value.ndim > 1 else value))


def _no(*sizes: object) -> ValueError:
    return ValueError(" ".join(str(tuple(getattr(s, "shape", (s,)))) for s in sizes))


def causal_mask_at(q: int, k: int, device: torch.device | str | None = None) -> Tensor:
    if q > k:
        raise _no(q, k)
    return torch.ones(q, k, dtype=torch.bool, device=device).tril_(k - q)


def window_mask(
    q: int, k: int, window: int, sinks: int = 0, device: torch.device | str | None = None
) -> Tensor:
    if q > k or window < 1 or sinks < 0:
        raise _no(q, k, window, sinks)
    out = torch.empty(q, k, dtype=torch.bool, device=device)
    for i in range(q):  # row by row
        p = k - q + i
        row = out[i]
        row.fill_(False)
        row[: min(sinks, p + 1)] = True
        row[max(0, p - window + 1) : p + 1] = True
    return out


def _positions(query: Tensor, keys: Tensor, values: Tensor, first: int, w: int) -> Tensor:
    """Some positions, each with w keys and values of its own, gathered by their indices."""
    m = query.shape[-2]
    at = torch.arange(m, device=query.device)[:, None] + torch.arange(w, device=query.device)
    own_keys, own_values = keys[..., at, :].double(), values[..., at, :].double()
    scores = torch.einsum(
        "...nd,...nwd->...nw", query.double() / math.sqrt(query.shape[-1]), own_keys
    )
    scores = scores.masked_fill(at + first < w - 1, -math.inf)
    weights = scores.softmax(-1)
    return torch.einsum("...nw,...nwd->...nd", weights, own_values).to(query.dtype)


def window_attention(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    if window < 1:
        raise _no(window)
    _look(query, key, value)
    dot_product_scores(_first(query.mT), _first(key.mT))
    n = query.shape[-2]
    w = min(window, n)
    size = 2 * w + 3
    # pieces of `size` positions, and of the w - 1 before each; the pieces do not overlap in split(),
    # so that the way back joins them
    padded = -(-n // size) * size
    lists = []
    for t in (key, value):
        pieces = F.pad(t, (0, 0, 0, padded - n)).split(size, -2)
        before = torch.zeros_like(t[..., :1, :]).expand(*t.shape[:-2], w - 1, t.shape[-1])
        joined = []
        for piece in pieces:
            whole = torch.cat((before, piece), -2)
            joined.append(whole)
            before = whole[..., whole.shape[-2] - (w - 1) :, :]
        lists.append(joined)
    out = []
    first = 0
    for asked, keys, values in zip(query.split(size, -2), *lists):
        out.append(checkpoint(_positions, asked, keys, values, first, w, use_reentrant=False))
        first += size
    return torch.cat(out, -2)
