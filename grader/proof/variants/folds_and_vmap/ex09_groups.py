"""Groups of heads by vmap: by a stranger who had the stubs only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from torch.func import vmap

from ex06_heads import merge_heads, split_heads


def repeat_heads(x, times):
    if x.ndim < 3:
        raise ValueError(f"x has only the shape {tuple(x.shape)}")
    if times < 1:
        raise ValueError(f"times must be positive, got {times}")
    index = torch.arange(x.shape[-3] * times, device=x.device) // times
    return x.index_select(-3, index)


def _group(query, key, value, mask):
    """One head of keys: query [*batch, r, q, d], key [*batch, k, d], mask [*batch, q, k] or None."""
    r = query.shape[-3]
    scores = query.flatten(-3, -2) @ key.transpose(-1, -2) / key.shape[-1] ** 0.5
    scores = scores.unflatten(-2, (r, -1))
    if mask is not None:
        mask = mask.unsqueeze(-3)
        empty = ~mask.any(-1, keepdim=True)
        scores = torch.where(mask | empty, scores, float("-inf"))
    weights = scores.softmax(-1)
    if mask is not None:
        weights = torch.where(empty, 0.0, weights)
    return (weights.flatten(-3, -2) @ value).unflatten(-2, (r, -1))


def grouped_attention(query, key, value, mask=None):
    if not all(t.ndim >= 3 for t in (query, key, value)):
        raise ValueError(
            f"at least 3 dimensions: {query.shape}, {key.shape}, {value.shape}"
        )
    h, q, d = query.shape[-3:]
    g, k, d2 = key.shape[-3:]
    if d != d2:
        raise ValueError(f"width of query {d} but of key {d2}")
    if value.shape[-2] != k:
        raise ValueError(f"{k} keys but {value.shape[-2]} values")
    if value.shape[-3] != g:
        raise ValueError(f"{g} heads of keys but {value.shape[-3]} of values")
    if h % g:
        raise ValueError(f"{g} does not divide {h}")
    batch = query.shape[:-3]
    if key.shape[:-3] != batch or value.shape[:-3] != batch:
        raise ValueError(f"batch {batch}, {key.shape[:-3]}, {value.shape[:-3]}")
    if mask is not None:
        full = (*batch, q, k)
        try:
            fits = torch.broadcast_shapes(mask.shape, full) == torch.Size(full)
        except RuntimeError:
            fits = False
        if not fits:
            raise ValueError(f"mask {mask.shape} against {full}")
        mask = mask.broadcast_to(full)
    split = query.unflatten(-3, (g, h // g))
    out = vmap(
        _group,
        in_dims=(len(batch), len(batch), len(batch), None),
        out_dims=len(batch),
    )(split, key, value, mask)
    return out.flatten(-4, -3)


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    return (
        torch.empty(1, dtype=dtype)
        .expand(2, n_layers, n_kv_heads, d_head, batch, n)
        .numel()
        * dtype.itemsize
    )


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"{n_heads} heads and d_model {d_model}")
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"{n_kv_heads} heads of keys and {n_heads} of queries")
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        kv = d_model * n_kv_heads // n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, w, bias=bias) for w in (d_model, kv, kv, d_model)
        )

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        width = self.w_q.in_features
        if x.ndim < 2 or memory.ndim < 2:
            raise ValueError(f"x {x.shape}, memory {memory.shape}")
        if x.shape[-1] != width or memory.shape[-1] != width:
            raise ValueError(
                f"x {x.shape}, memory {memory.shape}: not {width} wide"
            )
        if x.shape[:-2] != memory.shape[:-2]:
            raise ValueError(f"x {x.shape}, memory {memory.shape}: batch")
        key, value = (
            split_heads(w(memory), self.n_kv_heads) for w in (self.w_k, self.w_v)
        )
        return self.w_o(
            merge_heads(
                grouped_attention(
                    split_heads(self.w_q(x), self.n_heads), key, value, mask
                )
            )
        )
