"""Heads: strides do the folding, the precision goes up once."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex01_scores import project_linear
from ex05_mixing import attention


def _up(t: Tensor) -> Tensor:
    if t.dtype in (torch.float16, torch.bfloat16):
        return t.to(torch.float32)
    return t if t.device.type == "mps" else t.to(torch.float64)


def _size(t: Tensor) -> str:
    return f"size {list(t.size())}" if t.dim() else "no size at all, being 0-dimensional"


def _refuse_heads(d_model: int, n_heads: int) -> None:
    if n_heads < 1 or d_model != d_model // n_heads * n_heads:
        raise ValueError(f"a width of {d_model} does not make {n_heads} heads")


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    if x.dim() < 2:
        raise ValueError(f"x has no rows, it has {_size(x)}")
    _refuse_heads(x.size(-1), n_heads)
    x = x.contiguous()
    *batch, n, d_model = x.size()
    *steps, row, one = x.stride()
    d_head = d_model // n_heads
    folded = torch.as_strided(
        x, (*batch, n_heads, n, d_head), (*steps, d_head * one, row, one), x.storage_offset()
    )
    return folded.contiguous()


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    if x.dim() < 3:
        raise ValueError(f"x has no heads, it has {_size(x)}")
    *batch, n_heads, n, d_head = x.size()
    return x.swapaxes(-3, -2).contiguous().view(*batch, n, n_heads * d_head)


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    q, k, v = query.size(), key.size(), value.size()
    if min(len(q), len(k), len(v)) < 2 or k != v or q[:-2] != k[:-2] or q[-1] != k[-1]:
        raise ValueError(
            f"query with {_size(query)}, key with {_size(key)}, value with {_size(value)}"
        )
    _refuse_heads(q[-1], n_heads)
    if mask is not None:
        table = [*q[:-1], k[-2]]
        padded = [1] * (len(table) - mask.dim()) + list(mask.size())
        if len(padded) != len(table) or any(m not in (1, t) for m, t in zip(padded, table)):
            raise ValueError(f"a mask of size {list(mask.size())} for scores of size {table}")
        mask = mask.reshape(*padded[:-2], 1, *padded[-2:])
    pieces = (split_heads(_up(t), n_heads) for t in (query, key, value))
    return merge_heads(attention(*pieces, mask=mask)).to(value.dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        _refuse_heads(d_model, n_heads)
        super().__init__()
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        source = x if memory is None else memory
        width = self.w_q.in_features
        for name, t in (("x", x), ("memory", source)):
            if t.dim() < 2 or t.size(-1) != width:
                raise ValueError(f"{name} with {_size(t)} for a layer {width} wide")
        if x.size()[:-2] != source.size()[:-2]:
            raise ValueError(f"x with {_size(x)} cannot look at memory with {_size(source)}")

        def through(layer: nn.Linear, t: Tensor) -> Tensor:
            bias = None if layer.bias is None else _up(layer.bias)
            return project_linear(_up(t), _up(layer.weight), bias)

        heads = multi_head(
            through(self.w_q, x),
            through(self.w_k, source),
            through(self.w_v, source),
            self.n_heads,
            mask,
        )
        return through(self.w_o, heads).to(x.dtype)
