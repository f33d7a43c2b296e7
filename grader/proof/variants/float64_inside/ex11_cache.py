"""Attention is worked out in float64 and rounded at the end, and so are the angles before rotate_pairs gets them; rows written by index_put."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex06_heads import merge_heads, split_heads
from ex08_positions import rotate_pairs
from ex09_groups import grouped_attention
from ex10_window import causal_mask_at, window_mask


def _error(*parts: object) -> ValueError:
    return ValueError(" ".join(str(tuple(p.shape) if isinstance(p, Tensor) else p) for p in parts))


class KeyValueCache:
    def __init__(self, capacity: int) -> None:
        if int(capacity) < 1:
            raise _error("capacity", capacity)
        self.capacity = int(capacity)
        self.reset()

    def reset(self) -> None:
        self._pair: tuple[Tensor, Tensor] | tuple[()] = ()
        self.length = 0

    def _index(self, m: int, device: torch.device) -> tuple:
        return ..., torch.arange(m, device=device) + self.length, slice(None)

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if key.ndim < 2:
            raise _error("key", key)
        if value.ndim < 2:
            raise _error("value", value)
        if key.shape[:-1] != value.shape[:-1]:
            raise _error("key", key, "value", value)
        m = key.shape[-2]
        for rows, buffer in zip((key, value), self._pair):
            expected = buffer[..., :1, :].expand(*buffer.shape[:-2], m, -1)  # a view
            if rows.shape != expected.shape:
                raise _error("rows are", rows, "and not", expected)
            if rows.dtype != buffer.dtype:
                raise _error("rows", rows, "are", rows.dtype, "and not", buffer.dtype)
            if rows.device != buffer.device:
                raise _error("rows", rows, "are on", rows.device, "and not", buffer.device)
        if self.length + m > self.capacity:
            raise _error("length", self.length, "and", m, "rows more than", self.capacity)
        if not self._pair:
            self._pair = tuple(
                torch.empty_like(x[..., :1, :], requires_grad=False)
                .new_empty((*x.shape[:-2], self.capacity, x.shape[-1]))
                for x in (key, value)
            )
        with torch.no_grad():
            for rows, buffer in zip((key, value), self._pair):
                buffer[self._index(m, rows.device)] = rows
        self.length = self.length + m
        return tuple(buffer[..., : self.length, :] for buffer in self._pair)


def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache) -> Tensor:
    if query.shape != key.shape:
        raise _error("query", query, "key", key)
    keys, values = cache.update(key, value)
    mask = causal_mask_at(query.shape[-2], keys.shape[-2], query.device)
    heads = [x.double().unsqueeze(-3) for x in (query, keys, values)]
    return grouped_attention(*heads, mask).squeeze(-3).to(value.dtype)


class CachedAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        kv = n_heads if n_kv_heads is None else n_kv_heads
        for bad in (
            lambda: n_heads < 1,
            lambda: d_model % n_heads,
            lambda: d_model // n_heads % 2,
            lambda: kv < 1,
            lambda: n_heads % kv,
            lambda: window is not None and window < 1,
        ):
            if bad():
                raise _error("d_model", d_model, "n_heads", n_heads, "n_kv_heads", kv, "window", window)
        self.n_heads, self.n_kv_heads, self.d_head, self.window = n_heads, kv, d_model // n_heads, window
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, kv * self.d_head, bias=False)
        self.w_v = nn.Linear(d_model, kv * self.d_head, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        if x.ndim < 2 or x.shape[-1] != self.n_heads * self.d_head:
            raise _error("x", x, "d_model", self.n_heads * self.d_head)
        m = x.shape[-2]
        n = m if cache is None else m + cache.length
        pair = torch.arange(self.d_head // 2, dtype=torch.float64, device=x.device)
        speed = torch.exp(pair * (-2.0 / self.d_head) * torch.log(pair.new_tensor(10000.0)))
        position = torch.linspace(n - m, n - 1, m, dtype=torch.float64, device=x.device)
        angles = torch.outer(position, speed).float()
        query = rotate_pairs(split_heads(self.w_q(x), self.n_heads), angles)
        key = rotate_pairs(split_heads(self.w_k(x), self.n_kv_heads), angles)
        value = split_heads(self.w_v(x), self.n_kv_heads)
        if cache is not None:
            key, value = cache.update(key, value)
        mask = causal_mask_at(m, n, x.device)
        if self.window is not None:
            mask = mask & window_mask(m, n, self.window, device=x.device)
        mixed = grouped_attention(query.double(), key.double(), value.double(), mask)
        return self.w_o(merge_heads(mixed).to(x.dtype))
