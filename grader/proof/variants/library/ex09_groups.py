"""Style library: chunks of groups, kron for the mask, bmm by way of chapter 5, math.prod."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ex01_scores import misfit
from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x: Tensor, times: int) -> Tensor:
    if x.ndim < 3 or times < 1:
        misfit(f"heads, {times} times", x)
    places = torch.arange(x.shape[-3] * times, device=x.device).div(times, rounding_mode="floor")
    return torch.index_select(x, -3, places)


def grouped_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    if min(query.ndim, key.ndim, value.ndim) < 3 or key.shape[:-1] != value.shape[:-1]:
        misfit("attention in groups", query, key, value)
    if query.shape[:-3] != key.shape[:-3] or query.shape[-3] % key.shape[-3]:
        misfit("attention in groups", query, key, value)
    q = query.shape[-2]
    times = query.shape[-3] // key.shape[-3]
    if mask is not None:
        pages = torch.Size([*query.shape[:-3], q, key.shape[-2]])
        if mask.ndim > len(pages) or any(m not in (1, p) for m, p in zip(mask.shape[::-1], pages[::-1])):
            misfit("masked scores", query, key, mask)
        mask = torch.tile(mask.expand(pages), (times, 1))
    # a group at a time: its heads are only more rows
    groups = zip(query.tensor_split(key.shape[-3], -3), key.unbind(-3), value.unbind(-3))
    mixed = [attention(rows.flatten(-3, -2), k, v, mask) for rows, k, v in groups]
    return torch.cat([torch.unflatten(one, -2, (times, q)) for one in mixed], -3)


def cache_bytes(
    n_layers: int, n_kv_heads: int, d_head: int, n: int, batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    return math.prod([2, n_layers, n_kv_heads, d_head, n, batch, dtype.itemsize])


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        super().__init__()
        if n_heads not in [n for n in range(1, d_model + 1) if d_model % n == 0]:
            raise ValueError(f"n_heads must be a divisor of d_model = {d_model}, not {n_heads}")
        if n_kv_heads not in [n for n in range(1, n_heads + 1) if n_heads % n == 0]:
            raise ValueError(f"n_kv_heads must be a divisor of n_heads = {n_heads}, not {n_kv_heads}")
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        narrow = d_model // n_heads * n_kv_heads
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.w_k, self.w_v = (nn.Linear(d_model, narrow, bias=bias) for _ in range(2))
        self.w_q = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        memory = x if memory is None else memory
        if x.ndim < 2 or memory.ndim < 2:
            misfit("attention", x, memory)
        if not x.shape[-1] == memory.shape[-1] == self.w_q.in_features:
            misfit(f"attention at d_model = {self.w_q.in_features}", x, memory)
        query = split_heads(self.w_q(x), self.n_heads)
        key, value = (split_heads(w(memory), self.n_kv_heads) for w in (self.w_k, self.w_v))
        return self.w_o(merge_heads(grouped_attention(query, key, value, mask)))
