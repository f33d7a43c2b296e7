"""Windows, by vmap over blocks: by a stranger who had the stubs only."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ex03_masking import causal_mask
from ex05_mixing import attention


def _toeplitz(line, q, k):
    """line[t] holds what stands at distance j - i = t - q; row i is line[q - i : q - i + k]."""
    return line.unfold(0, k, 1).flip(0)[:q]


def causal_mask_at(q, k, device=None):
    if q > k:
        raise ValueError(f"{(q, k)}")
    distance = torch.arange(-q, k, device=device)
    return _toeplitz(distance <= k - q, q, k)


def window_mask(q, k, window, sinks=0, device=None):
    if q > k:
        raise ValueError(f"{(q, k)}")
    if window < 1:
        raise ValueError(f"{window=}")
    if sinks < 0:
        raise ValueError(f"{sinks=}")
    back = k - q - torch.arange(-q, k, device=device)  # p - j
    near = _toeplitz((back >= 0) & (back < window), q, k)
    seen = _toeplitz(back >= 0, q, k)
    is_sink = torch.zeros(k, dtype=torch.bool, device=device)
    is_sink[:sinks] = True
    return torch.where(is_sink, seen, near)


def _check(query, key, value, window):
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(f"two dimensions are needed: {shapes}")
    if query.size(-1) != key.size(-1):
        raise ValueError(f"widths differ: {shapes}")
    if not query.size(-2) == key.size(-2) == value.size(-2):
        raise ValueError(f"numbers differ: {shapes}")
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise ValueError(f"batches differ: {shapes}")
    if window < 1:
        raise ValueError(f"window is {window}")


def _one_block(q, k, v, mask):
    score = torch.where(
        mask, q @ k.mT / q.shape[-1] ** 0.5, torch.finfo(q.dtype).min
    )
    return torch.softmax(score, -1) @ v


def window_attention(query, key, value, window):
    _check(query, key, value, window)
    n = query.shape[-2]
    w = min(window, n)
    rest = -n % w
    q, k, v = (
        F.pad(x, (0, 0, 0, rest)).unflatten(-2, (-1, w)).movedim(-3, 0)
        for x in (query, key, value)
    )
    old_k, old_v = (torch.cat([torch.zeros_like(x[:1]), x[:-1]]) for x in (k, v))
    inside = window_mask(w, 2 * w, w, device=q.device)
    real = torch.ones(q.shape[0], 1, 2 * w, dtype=torch.bool, device=q.device)
    real[0, :, :w] = False
    out = torch.vmap(_one_block)(
        q, torch.cat([old_k, k], -2), torch.cat([old_v, v], -2), inside & real
    )
    return out.movedim(0, -3).flatten(-3, -2)[..., :n, :]
