"""Functional style: the cache holds one immutable state that is swapped, updates return a NamedTuple, and writing by .data lets old pieces still be back-propagated."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Rows(NamedTuple):
    keys: Tensor
    values: Tensor


class State(NamedTuple):
    capacity: int
    length: int = 0
    buffers: Rows | None = None


def _kind(x: Tensor) -> tuple:
    return (*x.shape[:-2], x.shape[-1]), x.dtype, x.device


def _grown(state: State, new: Rows) -> State:
    """The state after some more rows, or a ValueError."""
    told = [f"{tuple(x.shape)}, {x.dtype}" for x in new]
    if min(x.ndim for x in new) < 2 or len({x.shape[:-1] for x in new}) > 1:
        raise ValueError(f"no keys with their values: {told}")
    if state.buffers is not None and [*map(_kind, new)] != [*map(_kind, state.buffers)]:
        raise ValueError(f"not what came first, {[*map(_kind, state.buffers)]}: {told}")
    length = state.length + new.keys.shape[-2]
    if length > state.capacity:
        raise ValueError(f"{length} rows in {state.capacity}: {told}")
    buffers = state.buffers or Rows(
        *(x.new_empty((*x.shape[:-2], state.capacity, x.shape[-1])) for x in new)
    )
    for buffer, x in zip(buffers, new):
        buffer.data[..., state.length : length, :] = x.data
    return state._replace(length=length, buffers=buffers)


class KeyValueCache:
    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"{capacity} rows are no room")
        self.state = State(capacity)

    length = property(lambda self: self.state.length)

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        self.state = _grown(self.state, Rows(key, value))
        return Rows(*(x[..., : self.length, :] for x in self.state.buffers))

    def reset(self) -> None:
        self.state = State(self.state.capacity)


def _mix(query: Tensor, rows: Rows, window: int | None = None) -> Tensor:
    m, n = query.shape[-2], rows.keys.shape[-2]
    at = torch.arange(n, device=query.device)
    distance = at[n - m :].unsqueeze(1) - at.unsqueeze(0)
    seen = distance.ge(0) if window is None else distance.ge(0).logical_and(distance.lt(window))
    scores = (query * query.shape[-1] ** -0.5).matmul(rows.keys.transpose(-2, -1))
    scores = torch.where(seen, scores, torch.full_like(scores, -torch.inf))
    return (scores - scores.logsumexp(-1, keepdim=True)).exp().matmul(rows.values)


def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache) -> Tensor:
    if query.shape != key.shape:
        raise ValueError(f"queries {tuple(query.shape)} for keys {tuple(key.shape)}")
    return _mix(query, cache.update(key, value))


def _turned(x: Tensor, start: int) -> Tensor:
    """Turn by cos * x + sin * (x with its pairs swapped, one of them negative)."""
    m, d = x.shape[-2:]
    place = torch.arange(start, start + m, device=x.device, dtype=torch.float32)
    speed = 10000.0 ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d)
    angle = torch.outer(place, speed).repeat_interleave(2, -1)  # [m, d]
    wide = x.to(torch.promote_types(x.dtype, angle.dtype))
    angle = angle.to(wide.dtype)
    swapped = torch.stack((-wide[..., 1::2], wide[..., ::2]), -1).flatten(-2)
    return torch.addcmul(wide * angle.cos(), swapped, angle.sin()).to(x.dtype)


def _heads(x: Tensor, weight: Tensor, width: int) -> Tensor:
    return nn.functional.linear(x, weight).unflatten(-1, (weight.shape[0] // width, width)).transpose(-3, -2)


class CachedAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads or d_model // n_heads % 2:
            raise ValueError(f"{d_model} features, {n_heads} heads")
        groups = n_heads if n_kv_heads is None else n_kv_heads
        if groups < 1 or n_heads % groups:
            raise ValueError(f"{n_heads} heads, {groups} of keys")
        if window is not None and window < 1:
            raise ValueError(f"a window of {window}")
        self.width, self.window = d_model // n_heads, window
        linear = partial(nn.Linear, d_model, bias=False)
        self.w_q, self.w_o = linear(d_model), linear(d_model)
        self.w_k, self.w_v = linear(groups * self.width), linear(groups * self.width)

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        if x.ndim < 2 or x.shape[-1] != self.w_q.in_features:
            raise ValueError(f"x {tuple(x.shape)} for {self.w_q.in_features} features")
        start = 0 if cache is None else cache.length
        query, key, value = (_heads(x, w.weight, self.width) for w in (self.w_q, self.w_k, self.w_v))
        query, key = _turned(query, start), _turned(key, start)
        rows = Rows(key, value) if cache is None else cache.update(key, value)
        g = key.shape[-3]
        mixed = _mix(query.unflatten(-3, (g, -1)), Rows(*(r.unsqueeze(-3) for r in rows)), self.window)
        joined = mixed.flatten(-4, -3).transpose(-3, -2).flatten(-2)
        return nn.functional.linear(joined, self.w_o.weight)
