"""Style views: batch and blocks are folded into one dimension, and the keys of blocks overlap."""

import torch
import torch.nn.functional as F

from ex01_scores import ShapeError, fold
from ex05_mixing import attention


def causal_mask_at(q, k, device=None):
    if q > k:
        raise ShapeError(f"{q} queries do not fit into {k} positions")
    return torch.arange(k, device=device).expand(q, k) <= torch.arange(k - q, k, device=device)[:, None]


def window_mask(q, k, window, sinks=0, device=None):
    if window < 1 or sinks < 0:
        raise ShapeError(f"no window of {window} with {sinks} sinks")
    keys = torch.arange(k, device=device)
    # the first position that is near, for each query
    near = torch.arange(k - q + 1, k + 1, device=device)[:, None] - window
    return causal_mask_at(q, k, device) & ~((keys >= sinks) & (keys < near))


def window_attention(query, key, value, window):
    tensors = {"query": query, "key": key, "value": value}
    if min(tensor.ndim for tensor in tensors.values()) < 2:
        raise ShapeError("not rows of vectors", **tensors)
    if len({tensor.shape[:-1] for tensor in tensors.values()}) > 1:
        raise ShapeError("not one of each per position", **tensors)
    if query.shape[-1] != key.shape[-1]:
        raise ShapeError("queries and keys are not equally wide", **tensors)
    if window < 1:
        raise ShapeError(f"no window of {window}")
    n = query.shape[-2]
    window = min(window, n)
    blocks = -(-n // window)
    rest = blocks * window - n

    def overlapping(x):
        rows = F.pad(fold(x), (0, 0, window, rest)).contiguous()
        page, row, number = rows.stride()
        shape = (len(rows), blocks, 2 * window, x.shape[-1])
        return rows.as_strided(shape, (page, window * row, row, number)).flatten(0, 1)

    rows = F.pad(fold(query), (0, 0, 0, rest)).reshape(-1, window, query.shape[-1])
    mask = window_mask(window, 2 * window, window, device=query.device)
    first = mask & (torch.arange(2 * window, device=query.device) >= window)
    block = torch.arange(len(rows), device=query.device).remainder(blocks)[:, None, None]
    out = attention(rows, overlapping(key), overlapping(value), torch.where(block == 0, first, mask))
    return out.reshape(-1, blocks * window, value.shape[-1])[:, :n].reshape(value.shape)
