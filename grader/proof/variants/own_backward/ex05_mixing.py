"""Mixing: up once, all the way through, and down once."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def _up(t: Tensor) -> Tensor:
    if t.dtype in (torch.float16, torch.bfloat16):
        return t.to(torch.float32)
    return t if t.device.type == "mps" else t.to(torch.float64)


def _size(t: Tensor) -> str:
    return f"size {list(t.size())}" if t.dim() else "no size at all, being 0-dimensional"


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    if weights.dim() != 1 or tokens.dim() != 2 or weights.size(0) != tokens.size(0):
        raise ValueError(f"weights with {_size(weights)} for tokens with {_size(tokens)}")
    return (_up(weights) @ _up(tokens)).to(tokens.dtype)


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    w, v = weights.size(), value.size()
    if len(w) < 2 or len(v) < 2 or w[-1] != v[-2] or w[:-2] != v[:-2]:
        raise ValueError(f"weights with {_size(weights)} for value with {_size(value)}")
    return (_up(weights) @ _up(value)).to(value.dtype)


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    if key.dim() < 2 or value.dim() < 2 or key.size()[:-1] != value.size()[:-1]:
        raise ValueError(f"key with {_size(key)} for value with {_size(value)}")
    weights = attention_weights(_up(query), _up(key), mask)
    return mix_values(weights, _up(value)).to(value.dtype)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    if x.dim() < 2:
        raise ValueError(f"x has no rows, it has {_size(x)}")
    _refuse_weights(x, x, w_q, w_k, w_v)
    mask = causal_mask(x.size(-2), x.device) if causal else None
    wide = _up(x)
    parts = (project_rows(wide, _up(w)) for w in (w_q, w_k, w_v))
    return attention(*parts, mask=mask).to(x.dtype)


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    if x.dim() < 2 or memory.dim() < 2 or x.size()[:-2] != memory.size()[:-2]:
        raise ValueError(f"x with {_size(x)} cannot look at memory with {_size(memory)}")
    _refuse_weights(x, memory, w_q, w_k, w_v)
    mask = None
    if memory_mask is not None:
        if memory_mask.size() != memory.size()[:-1]:
            raise ValueError(
                f"memory_mask with {_size(memory_mask)} for memory with {_size(memory)}"
            )
        mask = memory_mask.unsqueeze(-2)
    query = project_rows(_up(x), _up(w_q))
    key, value = (project_rows(_up(memory), _up(w)) for w in (w_k, w_v))
    return attention(query, key, value, mask).to(x.dtype)


def _refuse_weights(x: Tensor, memory: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> None:
    for name, w, source in (("w_q", w_q, x), ("w_k", w_k, memory), ("w_v", w_v, memory)):
        if w.dim() != 2 or w.size(0) != source.size(-1):
            raise ValueError(f"{name} with {_size(w)} for tokens with {_size(source)}")
    if w_q.size(1) != w_k.size(1):
        raise ValueError(f"w_q with {_size(w_q)} and w_k with {_size(w_k)} differ in width")
