"""Mixing, in Einstein's notation."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def _say(**tensors: Tensor) -> str:
    return " and ".join(
        f"{name} is {'x'.join(str(size) for size in t.shape) or 'one number, 0 dimensions'}"
        for name, t in tensors.items()
    )


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    if weights.ndim != 1 or tokens.ndim != 2 or weights.size(0) != tokens.size(0):
        raise ValueError(f"one weight per token, please: {_say(weights=weights, tokens=tokens)}")
    return torch.einsum("n,nd->d", weights, tokens)


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    if (
        min(weights.ndim, value.ndim) < 2
        or weights.shape[:-2] != value.shape[:-2]
        or weights.size(-1) != value.size(-2)
    ):
        raise ValueError(f"these do not go together: {_say(weights=weights, value=value)}")
    return torch.einsum("...qk,...kv->...qv", weights, value)


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    if value.ndim < 2 or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(f"one value per key, please: {_say(key=key, value=value)}")
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    if x.ndim < 2:
        raise ValueError(f"x needs at least two dimensions: {_say(x=x)}")
    for w in (w_q, w_k, w_v):
        if w.ndim != 2 or w.size(0) != x.size(-1):
            raise ValueError(f"a weight does not fit: {_say(x=x, w_q=w_q, w_k=w_k, w_v=w_v)}")
    if w_q.size(1) != w_k.size(1):
        raise ValueError(f"queries and keys must be of one width: {_say(w_q=w_q, w_k=w_k)}")
    query, key, value = (torch.einsum("...nd,de->...ne", x, w) for w in (w_q, w_k, w_v))
    return attention(query, key, value, causal_mask(x.size(-2), x.device) if causal else None)


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    if min(x.ndim, memory.ndim) < 2 or x.shape[:-2] != memory.shape[:-2]:
        raise ValueError(f"these do not go together: {_say(x=x, memory=memory)}")
    for source, w in ((x, w_q), (memory, w_k), (memory, w_v)):
        if w.ndim != 2 or w.size(0) != source.size(-1):
            said = _say(x=x, memory=memory, w_q=w_q, w_k=w_k, w_v=w_v)
            raise ValueError(f"a weight does not fit: {said}")
    if w_q.size(1) != w_k.size(1):
        raise ValueError(f"queries and keys must be of one width: {_say(w_q=w_q, w_k=w_k)}")
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            said = _say(memory=memory, memory_mask=memory_mask)
            raise ValueError(f"the mask does not fit: {said}")
        memory_mask = memory_mask.unsqueeze(-2)
    query = torch.einsum("...qd,de->...qe", x, w_q)
    key = torch.einsum("...kd,de->...ke", memory, w_k)
    value = torch.einsum("...kd,dv->...kv", memory, w_v)
    return attention(query, key, value, memory_mask)
