"""Style views: batch and groups are folded into one dimension, so are a group's heads and rows."""

import torch
from torch import nn

from ex01_scores import ShapeError, fold
from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x, times):
    if x.ndim < 3 or times < 1:
        raise ShapeError(f"no heads that can come {times} times", x=x)
    *batch, g, n, d = x.shape
    return x[..., None, :, :].expand(*batch, g, times, n, d).reshape(*batch, g * times, n, d)


def grouped_attention(query, key, value, mask=None):
    tensors = {"query": query, "key": key, "value": value}
    if min(tensor.ndim for tensor in tensors.values()) < 3:
        raise ShapeError("not a stack of heads", **tensors)
    if len({tensor.shape[:-3] for tensor in tensors.values()}) > 1:
        raise ShapeError("the batch is not the same in all three", **tensors)
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError("not one value per key", **tensors)
    *batch, h, q, width = query.shape
    g, k = key.shape[-3], key.shape[-2]
    if h % g:
        raise ShapeError(f"{h} heads do not share {g} heads of keys", **tensors)
    rows = query.reshape(-1, h // g * q, width)
    if mask is not None:
        try:
            mask = mask.broadcast_to((*batch, q, k))
        except RuntimeError as problem:
            raise ShapeError(f"the mask does not fit, {(*batch, q, k)}", mask=mask) from problem
        mask = mask[..., None, None, :, :].expand(*batch, g, h // g, q, k).reshape(-1, h // g * q, k)
    out = attention(rows, fold(key), fold(value), mask)
    return out.reshape(*batch, h, q, value.shape[-1])


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    cache = torch.empty((), dtype=dtype).expand(2, n_layers, batch, n_kv_heads, n, d_head)
    return cache.nbytes


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"d_model, {d_model}, is not a multiple of n_heads, {n_heads}")
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"n_heads, {n_heads}, is not a multiple of n_kv_heads, {n_kv_heads}")
        self.heads = n_heads, n_kv_heads, n_kv_heads
        self.w_v = nn.Linear(d_model, d_model // n_heads * n_kv_heads, bias=bias)
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model // n_heads * n_kv_heads, bias=bias)

    def forward(self, x, memory=None, mask=None):
        if memory is None:
            memory = x
        width = self.w_o.out_features
        if x.ndim < 2 or memory.ndim < 2 or {x.shape[-1], memory.shape[-1]} != {width}:
            raise ShapeError(f"the last dimension is not {width}", x=x, memory=memory)
        made = self.w_q(x), self.w_k(memory), self.w_v(memory)
        split = [split_heads(part, heads) for part, heads in zip(made, self.heads)]
        return self.w_o(merge_heads(grouped_attention(*split, mask)))
