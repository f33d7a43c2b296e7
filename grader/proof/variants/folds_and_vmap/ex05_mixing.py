"""Chapter 5. Mixing: one vector at a time, then torch.vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights

show = lambda t: "x".join(map(str, t.shape)) or "a scalar of 0 dimensions"  # noqa: E731


def refuse(reason: str, **tensors: Tensor) -> ValueError:
    return ValueError(f"{reason}: " + ", ".join(f"{n} is {show(t)}" for n, t in tensors.items()))


def lift(function: Callable[..., Tensor], levels: int) -> Callable[..., Tensor]:
    return reduce(lambda inner, _: torch.vmap(inner), range(levels), function)


def combination(weights: Tensor, tokens: Tensor) -> Tensor:
    """sum_j weights[j] tokens[j], feature by feature."""
    return torch.vmap(partial(torch.dot, weights), in_dims=1)(tokens)


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    match tuple(weights.shape), tuple(tokens.shape):
        case (n,), (m, _) if n == m:
            return combination(weights, tokens)
        case (_,), (_, _):
            raise refuse("one weight per token is wanted", weights=weights, tokens=tokens)
        case (_,), _:
            raise refuse("a matrix of tokens is wanted", tokens=tokens, weights=weights)
        case _:
            raise refuse("a vector of weights is wanted", weights=weights, tokens=tokens)


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    match tuple(weights.shape), tuple(value.shape):
        case (*ours, _, k), (*theirs, n, _) if ours == theirs and k == n:
            rows = torch.vmap(combination, in_dims=(0, None))
            return lift(rows, len(ours))(weights, value)
        case (*_, _, k), (*_, n, _) if k != n:
            raise refuse(f"{k} weights a row for {n} values", weights=weights, value=value)
        case (*ours, _, _), (*theirs, _, _):
            raise refuse(f"batches {ours} and {theirs} differ", weights=weights, value=value)
        case _:
            raise refuse("rows are wanted in both", weights=weights, value=value)


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    named = {"query": query, "key": key, "value": value}
    match tuple(query.shape), tuple(key.shape), tuple(value.shape):
        case (*b_q, _, d_q), (*b_k, k, d_k), (*b_v, n, _) if (
            d_q == d_k and k == n and b_q == b_k == b_v
        ):
            return mix_values(attention_weights(query, key, mask), value)
        case (*_, _, _), (*_, _, _), (*_, _, _):
            raise refuse("query, key and value do not go together", **named)
        case _:
            raise refuse("rows are wanted in query, key and value", **named)


def projected(
    x: Tensor, memory: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries from x, keys and values from memory."""
    match tuple(x.shape), tuple(memory.shape):
        case (*ours, _, d), (*theirs, _, d_m) if ours == theirs:
            wanted = (("w_q", w_q, d), ("w_k", w_k, d_m), ("w_v", w_v, d_m))
        case (*_, _, _), (*_, _, _):
            raise refuse("the batches differ", x=x, memory=memory)
        case _:
            raise refuse("rows of tokens are wanted", x=x, memory=memory)
    wrong = {n: w for n, w, rows in wanted if w.ndim != 2 or w.shape[0] != rows}
    if wrong:
        raise refuse(f"matrices with {d} (w_q) and {d_m} (w_k, w_v) rows are wanted", **wrong)
    if w_q.shape[1] != w_k.shape[1]:
        raise refuse("queries and keys of one width are wanted", w_q=w_q, w_k=w_k)
    return project_rows(x, w_q), project_rows(memory, w_k), project_rows(memory, w_v)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    parts = projected(x, x, w_q, w_k, w_v)
    return attention(*parts, mask=causal_mask(x.shape[-2], x.device) if causal else None)


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    parts = projected(x, memory, w_q, w_k, w_v)
    match memory_mask:
        case None:
            return attention(*parts)
        case mask if mask.shape == memory.shape[:-1]:
            return attention(*parts, mask=mask[..., None, :])
        case mask:
            raise refuse("one flag per memory token is wanted", memory_mask=mask, memory=memory)
