"""No mask anywhere: a Python loop lets each word look at the slice of keys that it may see, and turns it at its own position."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads
from ex08_positions import rotary_angles, rotate_pairs
from ex09_groups import grouped_attention


class KeyValueCache:
    def __init__(self, capacity: int) -> None:
        self.capacity, self.length, self.buffers = capacity, 0, {}
        if capacity < 1:
            raise ValueError("capacity %r" % capacity)

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        named = {"key": key, "value": value}
        for name, rows in named.items():
            if rows.ndim < 2:
                raise ValueError(f"{name} {tuple(rows.shape)} has no rows")
        if key.shape[:-2] != value.shape[:-2]:
            raise ValueError(f"batch {tuple(key.shape[:-2])} and batch {tuple(value.shape[:-2])}")
        if key.shape[-2] != value.shape[-2]:
            raise ValueError(f"{key.shape[-2]} keys, {value.shape[-2]} values")
        for name, old in self.buffers.items():
            rows = named[name]
            if rows.shape[:-2] + rows.shape[-1:] != old.shape[:-2] + old.shape[-1:]:
                raise ValueError(f"{name} is {tuple(rows.shape)}, buffer {tuple(old.shape)}")
            if rows.dtype != old.dtype or rows.device != old.device:
                raise ValueError(f"{name} {tuple(rows.shape)} is {rows.dtype} on {rows.device}")
        if self.length + key.shape[-2] > self.capacity:
            raise ValueError(f"{key.shape[-2]} rows, room for {self.capacity - self.length}")
        if not self.buffers:
            for name, rows in named.items():
                self.buffers[name] = rows[..., :1, :].detach().new_zeros(
                    rows.shape[:-2] + (self.capacity, rows.shape[-1])
                )
        for name, rows in named.items():
            for i, row in enumerate(rows.detach().unbind(-2)):  # one row after the other
                self.buffers[name][..., self.length + i, :] = row
        self.length += key.shape[-2]
        return tuple(buffer[..., : self.length, :] for buffer in self.buffers.values())

    def reset(self) -> None:
        self.length = 0
        self.buffers = {}


def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache) -> Tensor:
    if query.shape != key.shape:
        raise ValueError(f"query {tuple(query.shape)} and key {tuple(key.shape)}")
    n = cache.length
    keys, values = cache.update(key, value)
    rows = [values.new_empty((*values.shape[:-2], 0, values.shape[-1]))]
    for i, row in enumerate(query.unbind(-2)):
        seen = n + i + 1
        rows.append(attention(row[..., None, :], keys[..., :seen, :], values[..., :seen, :]))
    return torch.cat(rows, -2)


class CachedAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        if n_heads < 1:
            raise ValueError(f"{n_heads} heads")
        d_head, rest = divmod(d_model, n_heads)
        if rest:
            raise ValueError(f"{d_model} features for {n_heads} heads leave {rest}")
        if d_head % 2:
            raise ValueError(f"heads are {d_head} wide, which is odd")
        if n_kv_heads is None:
            n_kv_heads = n_heads
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"{n_heads} heads for {n_kv_heads} of keys")
        if window is not None and window < 1:
            raise ValueError(f"window {window}")
        self.d_head, self.n_heads, self.n_kv_heads = d_head, n_heads, n_kv_heads
        self.window = window
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, n_kv_heads * d_head, bias=False)
        self.w_v = nn.Linear(d_model, n_kv_heads * d_head, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def _turned(self, heads: Tensor, start: int) -> Tensor:
        turned = [heads[..., :0, :]]
        for i in range(heads.shape[-2]):
            angle = rotary_angles(torch.tensor([start + i], device=heads.device), self.d_head)
            turned.append(rotate_pairs(heads[..., i : i + 1, :], angle))
        return torch.cat(turned, dim=-2)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        if x.ndim < 2 or x.shape[-1] != self.n_heads * self.d_head:
            raise ValueError(f"x is {tuple(x.shape)}, wanted {self.n_heads * self.d_head} features")
        start = 0 if cache is None else cache.length
        query = self._turned(split_heads(self.w_q(x), self.n_heads), start)
        keys = self._turned(split_heads(self.w_k(x), self.n_kv_heads), start)
        values = split_heads(self.w_v(x), self.n_kv_heads)
        if cache is not None:
            keys, values = cache.update(keys, values)
        mixed = [query[..., :0, :]]
        for i in range(x.shape[-2]):
            stop = start + i + 1
            first = 0 if self.window is None else max(0, stop - self.window)
            seen = (..., slice(first, stop), slice(None))
            mixed.append(grouped_attention(query[..., i : i + 1, :], keys[seen], values[seen]))
        return self.w_o(merge_heads(torch.cat(mixed, -2)))
