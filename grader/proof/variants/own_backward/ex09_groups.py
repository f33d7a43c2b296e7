"""Groups of heads with a backward pass of their own: by a stranger who had the stubs only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x, times):
    if x.dim() < 3:
        raise ValueError(
            f"x needs three dimensions or more, and is {tuple(x.shape)}"
        )
    if times < 1:
        raise ValueError(f"times is {times}, and must be at least 1")
    return x.repeat_interleave(times, dim=-3)


def grouped_attention(query, key, value, mask=None):
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() < 3:
            raise ValueError(
                f"{name} needs three dimensions, and is {tuple(t.shape)}"
            )
    *batch, h, q, d_k = query.shape
    *key_batch, g, k, key_width = key.shape
    *value_batch, g_v, k_v, d_v = value.shape
    if d_k != key_width:
        raise ValueError(f"query is {d_k} wide, key {key_width}")
    if k != k_v:
        raise ValueError(f"{k} keys and {k_v} values")
    if g != g_v:
        raise ValueError(f"key has {g} heads, value {g_v}")
    if h % g != 0:
        raise ValueError(f"{g} heads of keys do not divide {h} heads of queries")
    if not batch == key_batch == value_batch:
        raise ValueError(f"batches differ: {batch}, {key_batch}, {value_batch}")
    full = (*batch, q, k)
    if mask is None:
        mask = query.new_ones((), dtype=torch.bool)
    try:
        mask = mask.expand(full)
    except RuntimeError:
        raise ValueError(
            f"mask {tuple(mask.shape)} does not broadcast to {full}"
        ) from None
    rows = query.unflatten(-3, (g, h // g))
    return _Mix.apply(rows, key, value, mask[..., None, None, :, :]).flatten(-4, -3)


class _Mix(torch.autograd.Function):
    """Keeps the weights for the way back; written by hand."""

    @staticmethod
    def forward(ctx, query, key, value, mask):
        scale = query.shape[-1] ** -0.5
        scores = torch.einsum("...grqd,...gkd->...grqk", query, key) * scale
        lowest = torch.finfo(scores.dtype).min
        weights = (
            scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0)
        )
        ctx.save_for_backward(query, key, value, weights)
        return torch.einsum("...grqk,...gke->...grqe", weights, value)

    @staticmethod
    def backward(ctx, grad):
        query, key, value, weights = ctx.saved_tensors
        scale = query.shape[-1] ** -0.5
        to_value = torch.einsum("...grqk,...grqe->...gke", weights, grad)
        to_weights = torch.einsum("...grqe,...gke->...grqk", grad, value)
        to_scores = (
            weights
            * (to_weights - (weights * to_weights).sum(-1, keepdim=True))
            * scale
        )
        to_query = torch.einsum("...grqk,...gkd->...grqd", to_scores, key)
        to_key = torch.einsum("...grqk,...grqd->...gkd", to_scores, query)
        return to_query, to_key, to_value, None


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    return 2 * n_layers * n_kv_heads * d_head * n * batch * dtype.itemsize


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads != 0:
            raise ValueError(f"n_heads is {n_heads}, d_model {d_model}")
        if n_kv_heads < 1 or n_heads % n_kv_heads != 0:
            raise ValueError(f"n_kv_heads is {n_kv_heads}, n_heads {n_heads}")
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        d_head = d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.w_v = nn.Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory=None, mask=None):
        if memory is None:
            memory = x
        d_model = self.w_q.in_features
        for name, t in (("x", x), ("memory", memory)):
            if t.dim() < 2:
                raise ValueError(
                    f"{name} needs two dimensions, and is {tuple(t.shape)}"
                )
            if t.shape[-1] != d_model:
                raise ValueError(f"{name} is {t.shape[-1]} wide, not {d_model}")
        if x.shape[:-2] != memory.shape[:-2]:
            raise ValueError(f"x is {tuple(x.shape)}, memory {tuple(memory.shape)}")
        query = split_heads(self.w_q(x), self.n_heads)
        key = split_heads(self.w_k(memory), self.n_kv_heads)
        value = split_heads(self.w_v(memory), self.n_kv_heads)
        return self.w_o(merge_heads(grouped_attention(query, key, value, mask)))
