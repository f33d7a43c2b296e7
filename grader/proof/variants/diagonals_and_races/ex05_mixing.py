"""Chapter 5: sums in the manner of a knockout tournament, vmap, and prefixes for a causal mask."""

from __future__ import annotations

from functools import partial, reduce

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.func import vmap

from ex01_scores import project_rows
from ex04_softmax import attention_weights


def _sz(t: Tensor) -> str:
    return "x".join(map(str, t.shape)) or "a bare number"


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    if (weights.ndim, tokens.ndim) != (1, 2) or weights.shape[0] != tokens.shape[0]:
        raise ValueError(f"cannot blend {_sz(tokens)} in portions of {_sz(weights)}")
    t = weights[:, None] * tokens
    if not t.shape[0]:
        return t.sum(0)
    while (n := t.shape[0]) > 1:
        t = torch.cat([t[: n - 1 : 2] + t[1::2], t[n - n % 2 :]])
    return t[0]


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    match weights.shape, value.shape:
        case [(*b, _, k), (*c, l, _)] if (b, k) == (c, l):
            rows = vmap(linear_combination, in_dims=(0, None))
            return reduce(lambda f, _: vmap(f), b, rows)(weights, value)
        case _:
            raise ValueError(f"{_sz(weights)} does not go with {_sz(value)}")


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    return mix_values(value=value, weights=attention_weights(mask=mask, key=key, query=query))


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    look = partial(cross_attention, w_q=w_q, w_k=w_k, w_v=w_v)
    if not causal or x.ndim < 2:
        return look(x, x)
    # no mask at all: token i is shown the first i + 1 tokens, and nothing else exists
    n = x.shape[-2]
    return torch.cat(
        [look(x.narrow(-2, i, 1), x.narrow(-2, 0, i + 1)) for i in range(n)], dim=-2
    )


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    q, k, v = map(project_rows, (x, memory, memory), (w_q, w_k, w_v))
    if memory_mask is None:
        return attention(q, k, v)
    if memory_mask.shape != memory.shape[:-1]:
        raise ValueError(f"blinkers of {_sz(memory_mask)} for a memory of {_sz(memory)}")
    return attention(q, k, v, memory_mask.unsqueeze(-2))
