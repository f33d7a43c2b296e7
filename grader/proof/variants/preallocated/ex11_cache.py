"""Two row stores with __slots__ under an abstract base class; CachedAttention loops over the heads, and a refusal is a class of its own."""

from __future__ import annotations

import abc

import torch
from torch import Tensor, nn

from ex05_mixing import attention
from ex08_positions import rotary_angles, rotate_pairs
from ex10_window import causal_mask_at, window_mask


class CacheError(ValueError):
    """What a cache does not take."""


class _Rows:
    """A growing list of rows of one kind."""

    __slots__ = ("buffer", "used")

    def __init__(self, buffer: Tensor) -> None:
        self.buffer, self.used = buffer, 0

    @classmethod
    def like(cls, rows: Tensor, capacity: int) -> _Rows:
        size = torch.Size([*rows.shape[:-2], capacity, rows.shape[-1]])
        return cls(rows.detach().new_empty(size))

    def takes(self, rows: Tensor) -> bool:
        have, want = list(rows.shape), list(self.buffer.shape)
        have[-2] = want[-2] = 0
        return have == want and rows.dtype is self.buffer.dtype and rows.device == self.buffer.device

    def append(self, rows: Tensor) -> Tensor:
        end = self.used + rows.shape[-2]
        with torch.no_grad():
            self.buffer[..., self.used : end, :].copy_(rows)
        self.used = end
        return self.buffer[..., :end, :]


class _Cache(abc.ABC):
    __slots__ = ()

    @abc.abstractmethod
    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]: ...

    @abc.abstractmethod
    def reset(self) -> None: ...


class KeyValueCache(_Cache):
    __slots__ = ("_capacity", "_stores")

    def __init__(self, capacity: int) -> None:
        if not capacity >= 1:
            raise CacheError(f"capacity must be 1 or more, not {capacity}")
        self._capacity = capacity
        self._stores: tuple[_Rows, _Rows] | None = None

    @property
    def length(self) -> int:
        return 0 if self._stores is None else self._stores[0].used

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        for name, rows in (("key", key), ("value", value)):
            if rows.ndim < 2:
                raise CacheError(f"{name} has {rows.ndim} dimensions: {tuple(rows.shape)}")
        if key.shape[:-1] != value.shape[:-1]:
            raise CacheError(f"key is {tuple(key.shape)}, value is {tuple(value.shape)}")
        room = self._capacity - self.length
        if key.shape[-2] > room:
            raise CacheError(f"there is room for {room} rows, not for {key.shape[-2]}")
        stores = self._stores
        if stores is None:
            stores = _Rows.like(key, self._capacity), _Rows.like(value, self._capacity)
        for name, rows, store in zip(("key", "value"), (key, value), stores):
            if not store.takes(rows):
                raise CacheError(
                    f"{name} is {tuple(rows.shape)} {rows.dtype} on {rows.device}, "
                    f"its buffer {tuple(store.buffer.shape)} {store.buffer.dtype}"
                )
        self._stores = stores
        return stores[0].append(key), stores[1].append(value)

    def reset(self) -> None:
        self._stores = None


def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache) -> Tensor:
    if query.shape != key.shape:
        raise ValueError(f"query is {tuple(query.shape)}, key is {tuple(key.shape)}")
    keys, values = cache.update(key, value)
    mask = causal_mask_at(query.size(-2), keys.size(-2), device=query.device)
    return attention(query, keys, values, mask)


class CachedAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        self._refuse(n_heads < 1, "n_heads", n_heads)
        self._refuse(d_model % n_heads != 0, "d_model", d_model)
        self.d_head = d_model // n_heads
        self._refuse(self.d_head % 2 != 0, "d_head", self.d_head)
        groups = n_heads if n_kv_heads is None else n_kv_heads
        self._refuse(groups < 1 or n_heads % groups != 0, "n_kv_heads", groups)
        self._refuse(window is not None and window < 1, "window", window)
        self.n_heads, self.share, self.window = n_heads, n_heads // groups, window
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, groups * self.d_head, bias=False)
        self.w_v = nn.Linear(d_model, groups * self.d_head, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    @staticmethod
    def _refuse(bad: bool, name: str, size: int | None) -> None:
        if bad:
            raise ValueError(f"{name} does not fit: {size}")

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        if x.ndim < 2:
            raise ValueError(f"x has {x.ndim} dimensions: {tuple(x.shape)}")
        self._refuse(x.shape[-1] != self.w_q.in_features, "width of x", x.shape[-1])
        start = 0 if cache is None else cache.length
        m = x.shape[-2]
        angles = rotary_angles(torch.arange(start, start + m, device=x.device), self.d_head)
        queries = [rotate_pairs(q, angles) for q in self.w_q(x).split(self.d_head, -1)]
        keys = torch.stack([rotate_pairs(k, angles) for k in self.w_k(x).split(self.d_head, -1)], -3)
        values = torch.stack(self.w_v(x).split(self.d_head, -1), -3)
        if cache is not None:
            keys, values = cache.update(keys, values)
        n = keys.shape[-2]
        if self.window is None:
            mask = causal_mask_at(m, n, x.device)
        else:
            mask = window_mask(m, n, self.window, device=x.device)
        answers = []
        for head, query in enumerate(queries):
            group = head // self.share
            answers.append(
                attention(query, keys.select(-3, group), values.select(-3, group), mask)
            )
        return self.w_o(torch.cat(answers, -1))
