from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from ex01_scores import dot_product_scores, project_linear

from ex08_positions import rotary_angles, rotate_pairs


class Feil(ValueError):
    pass


def _s(*tensors: Tensor) -> str:
    return " mot ".join("rader " + "x".join(map(str, t.shape)) for t in tensors)


def _column(t: Tensor) -> Tensor:
    return t.mT[..., :1, :] if t.ndim > 1 else t


class KeyValueCache:
    """Two buffers, features first: a row is a column of them."""

    length = 0

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise Feil(f"plass: {capacity}")
        self.capacity = capacity
        self._buffers: list[Tensor] = []

    def reset(self) -> None:
        self.__init__(self.capacity)
        self.length = 0

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        pair = (key, value)
        dot_product_scores(_column(key), _column(value))
        end = self.length + key.shape[-2]
        if end > self.capacity:
            raise Feil(f"ikke plass til {key.shape[-2]}, det er {self.length} av {self.capacity}")
        buffers = self._buffers or [
            torch.empty(*t.shape[:-2], t.shape[-1], self.capacity, dtype=t.dtype, device=t.device)
            for t in pair
        ]
        for t, buffer in zip(pair, buffers):
            same = t.shape[:-2] == buffer.shape[:-2] and t.shape[-1] == buffer.shape[-2]
            if not same or t.dtype != buffer.dtype or t.device != buffer.device:
                raise Feil(f"{_s(t, buffer)} {t.dtype} {buffer.dtype}")
        for t, buffer in zip(pair, buffers):
            buffer.mT[..., self.length : end, :].copy_(t.detach())
        self._buffers, self.length = buffers, end
        keys, values = (buffer[..., :end].mT for buffer in buffers)
        return keys, values


def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache) -> Tensor:
    if query.shape != key.shape:
        raise Feil(_s(query, key))
    keys, values = cache.update(key, value)
    m, n = query.shape[-2], keys.shape[-2]
    out = query.new_empty(*query.shape[:-1], value.shape[-1])
    for i in range(m):  # each query has keys of its own, and needs no mask
        seen = slice(0, n - m + i + 1)
        scores = torch.einsum(
            "...d,...nd->...n", query[..., i, :].double(), keys[..., seen, :].double()
        )
        weights = torch.softmax(scores / math.sqrt(query.shape[-1]), -1)
        mixed = torch.einsum("...n,...nd->...d", weights, values[..., seen, :].double())
        out[..., i, :] = mixed.to(query.dtype)
    return out


class CachedAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        if n_kv_heads is None:
            n_kv_heads = n_heads
        if n_heads < 1 or d_model % n_heads or d_model // n_heads % 2:
            raise Feil(f"{d_model} delt på {n_heads}")
        if n_kv_heads < 1 or n_heads % n_kv_heads or (window is not None and window < 1):
            raise Feil(f"{n_heads}, {n_kv_heads}, {window}")
        self._d_head, self._window = d_model // n_heads, window
        for name, heads in zip("vkoq", (n_kv_heads, n_kv_heads, n_heads, n_heads)):
            setattr(self, "w_" + name, nn.Linear(d_model, heads * self._d_head, bias=False))

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        d = self._d_head
        query, key, value = (project_linear(x, w.weight) for w in (self.w_q, self.w_k, self.w_v))
        m = x.shape[-2]
        start = cache.length if cache is not None else 0
        angles = rotary_angles(torch.arange(start, start + m, device=x.device), d)
        query = [rotate_pairs(part, angles) for part in query.split(d, -1)]
        key = torch.stack([rotate_pairs(part, angles) for part in key.split(d, -1)], -3)
        value = torch.stack(value.split(d, -1), -3)
        if cache is not None:
            key, value = cache.update(key, value)
        n = start + m
        keys, values = key.unbind(-3), value.unbind(-3)
        share = len(query) // len(keys)
        # blocks of 50 queries, each with the keys that it sees, head by head
        blocks = []
        for first in range(0, m, 50):
            last = min(first + 50, m)
            low = 0 if self._window is None else max(0, start + first - self._window + 1)
            high = start + last
            p = torch.arange(start + first, high, device=x.device)[:, None]
            j = torch.arange(low, high, device=x.device)
            far = j > p
            if self._window is not None:
                far |= p - j >= min(self._window, n)
            heads = []
            for i, asked in enumerate(query):
                k, v = keys[i // share][..., low:high, :], values[i // share][..., low:high, :]
                scores = asked[..., first:last, :].double() @ k.double().mT / math.sqrt(d)
                weights = scores.masked_fill(far, -math.inf).softmax(-1)
                heads.append((weights @ v.double()).to(x.dtype))
            blocks.append(torch.cat(heads, -1))
        return self.w_o(torch.cat(blocks, -2))
