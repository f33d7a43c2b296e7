"""Windows by einsum over unfolded keys: by a stranger who had the stubs only."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ex03_masking import causal_mask
from ex05_mixing import attention


def causal_mask_at(q, k, device=None):
    if q > k:
        raise ValueError(f"{(q, k)}")
    return torch.tril(torch.full((q, k), True, device=device), k - q)


def window_mask(q, k, window, sinks=0, device=None):
    if q > k:
        raise ValueError(f"{(q, k)}")
    if window < 1:
        raise ValueError(f"{window=}")
    if sinks < 0:
        raise ValueError(f"{sinks=}")
    seen = causal_mask_at(q, k, device)
    return torch.cat([seen[:, :sinks], seen.triu(k - q - window + 1)[:, sinks:]], -1)


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


def window_attention(query, key, value, window):
    _check(query, key, value, window)
    n, d_k = query.shape[-2:]
    w = min(window, n)
    keys = F.pad(key, (0, 0, w - 1, 0)).unfold(-2, w, 1)  # [*batch, n, d_k, w]
    values = F.pad(value, (0, 0, w - 1, 0)).unfold(-2, w, 1)
    score = torch.einsum("...nd,...ndw->...nw", query, keys) * d_k**-0.5
    there = (
        torch.arange(w, device=query.device)
        >= w - 1 - torch.arange(n, device=query.device)[:, None]
    )
    score = score.masked_fill(~there, -torch.inf)
    return torch.einsum("...nw,...ndw->...nd", score.softmax(-1), values)
