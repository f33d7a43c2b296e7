"""Buffers are flat lines of memory read by as_strided; an update of 0 rows before any other fixes nothing; helper modules without weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ex05_mixing import attention
from ex08_positions import rotary_angles, rotate_pairs
from ex09_groups import grouped_attention
from ex10_window import causal_mask_at, window_mask


class _Line:
    """`capacity` rows of some sequences in one line of memory."""

    def __init__(self, rows: Tensor, capacity: int) -> None:
        *self.batch, _, self.width = rows.shape
        self.capacity = capacity
        self.memory = rows.detach().new_empty(math.prod(self.batch) * capacity * self.width)

    def rows(self, start: int, stop: int) -> Tensor:
        strides, step = [self.width, 1], self.capacity * self.width
        for size in reversed(self.batch):
            strides.insert(0, step)
            step *= size
        return self.memory.as_strided(
            [*self.batch, stop - start, self.width], strides, start * self.width
        )

    def differs(self, rows: Tensor) -> bool:
        *batch, _, width = rows.shape
        mine = (self.batch, self.width, self.memory.dtype, self.memory.device)
        return mine != (batch, width, rows.dtype, rows.device)


class KeyValueCache:
    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"got a capacity of {capacity}")
        self._capacity, self._lines, self.length = capacity, None, 0

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        sizes = f"got keys {tuple(key.shape)} and values {tuple(value.shape)}"
        if key.ndim < 2 or value.ndim < 2:
            raise ValueError(f"{sizes}, without rows")
        if key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"{sizes}, which do not pair")
        if self._lines is not None and any(
            line.differs(x) for line, x in zip(self._lines, (key, value))
        ):
            raise ValueError(f"{sizes}, unlike the first ones: {[x.width for x in self._lines]}")
        stop = self.length + key.shape[-2]
        if stop > self._capacity:
            raise ValueError(f"{sizes}, with {self.length} of {self._capacity} rows taken")
        if self._lines is None:
            if stop == 0:
                return key.detach(), value.detach()
            self._lines = [_Line(x, self._capacity) for x in (key, value)]
        for line, x in zip(self._lines, (key, value)):
            line.rows(self.length, stop).copy_(x.detach())
        self.length = stop
        keys, values = self._lines
        return keys.rows(0, stop), values.rows(0, stop)

    def reset(self) -> None:
        self._lines, self.length = None, 0


def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache) -> Tensor:
    if query.shape != key.shape:
        raise ValueError(f"got queries {tuple(query.shape)} and keys {tuple(key.shape)}")
    keys, values = cache.update(key, value)
    return attention(query, keys, values, causal_mask_at(*query.shape[-2:-1], *keys.shape[-2:-1], query.device))


class _Heads(nn.Module):
    def __init__(self, d_head: int) -> None:
        super().__init__()
        self.d_head = d_head

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (x.shape[-1] // self.d_head, self.d_head)).transpose(-3, -2)


class _Turn(nn.Module):
    def forward(self, x: Tensor, start: int) -> Tensor:
        place = torch.arange(x.shape[-2], device=x.device).add(start)
        return rotate_pairs(x, rotary_angles(place, x.shape[-1]))


class _Door(nn.Module):
    def __init__(self, window: int | None) -> None:
        super().__init__()
        self.window = window

    def forward(self, m: int, n: int, device: torch.device) -> Tensor:
        return window_mask(m, n, self.window or max(n, 1), device=device)


class CachedAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"got {n_heads} heads for {d_model} features")
        if d_model // n_heads % 2:
            raise ValueError(f"got {n_heads} odd heads for {d_model} features")
        if n_kv_heads is None:
            n_kv_heads = n_heads
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"got {n_kv_heads} heads of keys for {n_heads} heads")
        if window is not None and window < 1:
            raise ValueError(f"got a window of {window}")
        d_head = d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, n_kv_heads * d_head, bias=False)
        self.w_v = nn.Linear(d_model, n_kv_heads * d_head, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        self.split, self.turn, self.door = _Heads(d_head), _Turn(), _Door(window)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        if x.ndim < 2 or x.shape[-1] != self.w_q.in_features:
            raise ValueError(f"got x {tuple(x.shape)}, not {self.w_q.in_features} wide")
        start = 0 if cache is None else cache.length
        query = self.turn(self.split(self.w_q(x)), start)
        keys = self.turn(self.split(self.w_k(x)), start)
        values = self.split(self.w_v(x))
        if cache is not None:
            keys, values = cache.update(keys, values)
        mask = self.door(x.shape[-2], start + x.shape[-2], x.device)
        mixed = grouped_attention(query, keys, values, mask)
        return self.w_o(mixed.transpose(-3, -2).flatten(-2))
