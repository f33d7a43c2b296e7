"""Chapter 11: shelves whose first dimension is the word, and a loop over the heads."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex08_positions import rotary_angles, rotate_pairs
from ex10_window import causal_mask_at, window_mask


def _sized(*things) -> str:
    return " / ".join(
        f"[{'|'.join(map(str, t.shape))}]" if isinstance(t, Tensor) else str(t) for t in things
    )


class _Shelf:
    """Rows in memory as [capacity, *batch, d]."""

    __slots__ = ("planks",)

    def __init__(self, capacity: int, like: Tensor) -> None:
        with torch.inference_mode(False):
            self.planks = torch.empty(
                (capacity, *like.shape[:-2], like.shape[-1]), dtype=like.dtype, device=like.device
            )

    def takes(self, rows: Tensor) -> bool:
        p = self.planks
        return (
            rows.shape[:-2] + rows.shape[-1:] == p.shape[1:]
            and rows.dtype == p.dtype
            and rows.device == p.device
        )

    def put(self, at: int, rows: Tensor) -> None:
        # by .data: what an earlier piece keeps for its way back is still good afterwards
        self.planks.data[at : at + rows.shape[-2]].copy_(rows.detach().movedim(-2, 0))

    def show(self, n: int) -> Tensor:
        return self.planks[:n].movedim(0, -2)


class KeyValueCache:
    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a shelf for {capacity}?")
        self._room, self._shelves, self.length = capacity, None, 0

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        both = key, value
        if min(key.dim(), value.dim()) < 2 or key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"no couple: {_sized(*both)}")
        until = self.length + key.shape[-2]
        if until > self._room:
            raise ValueError(f"overfull: {until} on a shelf for {self._room}")
        shelves = self._shelves or tuple(_Shelf(self._room, t) for t in both)
        for shelf, rows in zip(shelves, both):
            if not shelf.takes(rows):
                raise ValueError(
                    f"stranger: {_sized(rows)} {rows.dtype} {rows.device} among "
                    f"{_sized(shelf.show(self.length))} {shelf.planks.dtype} {shelf.planks.device}"
                )
        for shelf, rows in zip(shelves, both):
            shelf.put(self.length, rows)
        self._shelves, self.length = shelves, until
        k, v = (shelf.show(until) for shelf in shelves)
        return k, v

    def reset(self) -> None:
        self.__init__(self._room)


def _look(query: Tensor, keys: Tensor, values: Tensor, seen: Tensor) -> Tensor:
    """Every row of `seen` has a True in it."""
    scores = torch.matmul(query, keys.mT) / math.sqrt(keys.shape[-1])
    return torch.matmul(scores.masked_fill(seen.logical_not(), -torch.inf).softmax(-1), values)


def attend_with_cache(query: Tensor, key: Tensor, value: Tensor, cache: KeyValueCache) -> Tensor:
    if query.shape != key.shape:
        raise ValueError(f"asked {_sized(query)}, offered {_sized(key)}")
    keys, values = cache.update(key, value)
    return _look(query, keys, values, causal_mask_at(query.shape[-2], keys.shape[-2], query.device))


class CachedAttention(nn.Module):
    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        g = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads < 1 or d_model % (2 * n_heads) or g < 1 or n_heads % g:
            raise ValueError(f"d_model={d_model} over n_heads={n_heads} over n_kv_heads={g}")
        if window is not None and window < 1:
            raise ValueError(f"a view of {window}")
        self.window = window
        self.d_head = d_model // n_heads
        for name, heads in dict(w_q=n_heads, w_k=g, w_v=g, w_o=n_heads).items():
            self.add_module(name, nn.Linear(d_model, heads * self.d_head, bias=False))

    def _each(self, layer: nn.Linear, x: Tensor) -> list[Tensor]:
        return [F.linear(x, rows) for rows in layer.weight.split(self.d_head)]

    def forward(self, x: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        if x.dim() < 2 or x.shape[-1] != self.w_q.in_features:
            raise ValueError(f"{_sized(x)} for a width of {self.w_q.in_features}")
        m, before = x.shape[-2], 0 if cache is None else cache.length
        places = torch.arange(before, before + m, device=x.device)
        angles = rotary_angles(places, self.d_head)
        keys = torch.stack([rotate_pairs(k, angles) for k in self._each(self.w_k, x)], -3)
        values = torch.stack(self._each(self.w_v, x), -3)
        if cache is not None:
            keys, values = cache.update(keys, values)
        if self.window is None:
            seen = causal_mask_at(m, before + m, x.device)
        else:
            seen = window_mask(m, before + m, self.window, device=x.device)
        queries = self._each(self.w_q, x)
        share = len(queries) // keys.shape[-3]
        heads = [
            _look(rotate_pairs(q, angles), keys.select(-3, j // share), values.select(-3, j // share), seen)
            for j, q in enumerate(queries)
        ]
        return self.w_o(torch.cat(heads, -1))
