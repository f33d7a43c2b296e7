"""Chapter 6 for people who think in arrays: reshape, swapaxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ex05_mixing import attention


@dataclass(frozen=True)
class Fold:
    """How a width is folded."""

    d_model: int
    n_heads: int

    def __post_init__(self) -> None:
        if self.n_heads < 1 or self.d_model % self.n_heads != 0:
            raise ValueError(f"cannot fold {self}")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads


def _deep(name: str, array: Tensor, ndim: int) -> None:
    if array.ndim < ndim:
        raise ValueError(f"{name}.ndim is {array.ndim} and not {ndim} or more; {name}.shape is {tuple(array.shape)}")


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """[n, h d] -> [n, h, d] -> [h, n, d]"""
    _deep("x", x, 2)
    fold = Fold(x.shape[-1], n_heads)
    return x.reshape(*x.shape[:-1], fold.n_heads, fold.d_head).swapaxes(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    """[h, n, d] -> [n, h, d] -> [n, h d]"""
    _deep("x", x, 3)
    *lead, n_heads, n, d_head = x.shape
    return x.swapaxes(-2, -3).reshape(*lead, n, n_heads * d_head)


def multi_head(query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Optional[Tensor] = None) -> Tensor:
    """Split, attend, merge."""
    arrays = {"value": value, "key": key, "query": query}
    for name, array in arrays.items():
        _deep(name, array, 2)
    for name, array in arrays.items():
        if array.shape[-1] != query.shape[-1] or array.shape[:-2] != query.shape[:-2]:
            raise ValueError(f"{name}.shape is {tuple(array.shape)}, beside a query.shape of {tuple(query.shape)}")
    if key.shape != value.shape:
        raise ValueError(f"there are {key.shape[-2]} keys and {value.shape[-2]} values")
    if mask is not None:
        full = (*query.shape[:-1], key.shape[-2])
        padded = (1,) * (len(full) - mask.ndim) + tuple(mask.shape)
        if len(padded) != len(full) or not all(m in {1, f} for m, f in zip(padded, full)):
            raise ValueError(f"mask.shape is {tuple(mask.shape)}; it does not broadcast to {full}")
        mask = mask.reshape(padded).unsqueeze(-3)
    return merge_heads(attention(*(split_heads(array, n_heads) for array in (query, key, value)), mask))


class MultiHeadAttention(nn.Module):
    """One wide product for the keys and the values, and for the queries too where it can be."""

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        self.fold = Fold(d_model, n_heads)
        super().__init__()
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def _project(self, x: Tensor, names: str) -> tuple[Tensor, ...]:
        layers = [getattr(self, f"w_{name}") for name in names]
        weight = torch.vstack([layer.weight for layer in layers])
        bias = None if layers[0].bias is None else torch.hstack([layer.bias for layer in layers])
        return torch.split(F.linear(x, weight, bias), self.fold.d_model, dim=-1)

    def forward(self, x: Tensor, memory: Optional[Tensor] = None, mask: Optional[Tensor] = None) -> Tensor:
        for name, array in (("memory", x if memory is None else memory), ("x", x)):
            _deep(name, array, 2)
            if array.shape[-1] != self.fold.d_model:
                raise ValueError(f"{name}.shape is {tuple(array.shape)}, whereas d_model is {self.fold.d_model}")
        if memory is None:
            query, key, value = self._project(x, "qkv")
        else:
            (query,), (key, value) = self._project(x, "q"), self._project(memory, "kv")
        return self.w_o(multi_head(query, key, value, self.fold.n_heads, mask))
