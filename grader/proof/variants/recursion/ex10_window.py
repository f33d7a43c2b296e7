"""Windows, by cutting the text in halves: by a stranger who had the stubs only."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ex03_masking import causal_mask
from ex05_mixing import attention


def causal_mask_at(q, k, device=None):
    if not q <= k:
        raise ValueError("more queries (%d) than keys (%d)" % (q, k))
    rows = [[j <= k - q + i for j in range(k)] for i in range(q)]
    return torch.tensor(rows, dtype=torch.bool, device=device).reshape(q, k)


def window_mask(q, k, window, sinks=0, device=None):
    if not q <= k:
        raise ValueError("more queries (%d) than keys (%d)" % (q, k))
    if not window >= 1:
        raise ValueError("window of %d" % window)
    if not sinks >= 0:
        raise ValueError("%d sinks" % sinks)
    mask = torch.full((q, k), False, device=device)
    for row, p in enumerate(range(k - q, k)):
        mask[row, max(0, p + 1 - window) : p + 1] = True
        mask[row, : min(sinks, p + 1)] = True
    return mask


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


def _halve(query, key, value, window):
    """The queries stand at the last positions of the keys."""
    q, k = query.shape[-2], key.shape[-2]
    if q <= max(window, 8):
        return attention(
            query, key, value, window_mask(q, k, window, device=query.device)
        )
    left = q // 2
    end = k - q + left
    old = max(0, end - window + 1)
    start = max(0, k - q - window + 1)
    first = _halve(
        query[..., :left, :],
        key[..., start:end, :],
        value[..., start:end, :],
        window,
    )
    second = _halve(
        query[..., left:, :], key[..., old:, :], value[..., old:, :], window
    )
    return torch.cat([first, second], -2)


def window_attention(query, key, value, window):
    _check(query, key, value, window)
    return _halve(query, key, value, window)
