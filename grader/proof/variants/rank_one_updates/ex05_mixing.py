"""Chapter 5. Mixing by scattered sums and pair sums."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex01_scores import dot_product_scores, project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def _fail(what, **tensors):
    sizes = [f"{n}{tuple(t.shape)} with {t.dim()} subscripts" for n, t in tensors.items()]
    raise ValueError(what + ": " + ", ".join(sizes))


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    if weights.dim() != 1:
        _fail("weights must have one subscript", weights=weights, tokens=tokens)
    if tokens.dim() != 2:
        _fail("tokens must have two subscripts", tokens=tokens, weights=weights)
    n, d = tokens.shape
    if weights.shape[0] != n:
        _fail("weights and tokens must be as many", weights=weights, tokens=tokens)
    work = torch.promote_types(tokens.dtype, torch.float32)
    # number l of the flat table n by d goes to the sum of feature l mod d
    number = torch.arange(n * d, device=tokens.device)
    row = torch.div(number, d, rounding_mode="floor")
    col = number - row * d
    term = weights.to(work).gather(0, row) * tokens.to(work).reshape(n * d)
    out = torch.zeros(d, dtype=work, device=tokens.device).index_add(0, col, term)
    return out.to(tokens.dtype)


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    if weights.dim() < 2 or value.dim() < 2:
        _fail("weights and value must have two subscripts or more", weights=weights, value=value)
    if weights.shape[-1] != value.shape[-2]:
        _fail("weights and value must agree in the number of keys", weights=weights, value=value)
    if weights.shape[:-2] != value.shape[:-2]:
        _fail("weights and value must agree in their leading extents",
              weights=weights, value=value)
    # sum over j of w(i, j) v(j, c): the columns of v are the "keys"
    return dot_product_scores(weights, value.transpose(-1, -2))


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        _fail("two subscripts or more are needed", query=query, key=key, value=value)
    if query.shape[-1] != key.shape[-1]:
        _fail("query and key must be equally wide", query=query, key=key)
    if key.shape[-2] != value.shape[-2]:
        _fail("key and value must be as many", key=key, value=value)
    if query.shape[:-2] != key.shape[:-2] or query.shape[:-2] != value.shape[:-2]:
        _fail("the leading extents must agree", query=query, key=key, value=value)
    return mix_values(attention_weights(query, key, mask), value)


def _check_weights(x, memory, w_q, w_k, w_v):
    d, d_m = x.shape[-1], memory.shape[-1]
    if w_q.dim() != 2 or w_q.shape[0] != d:
        _fail(f"w_q must be a matrix with {d} rows", w_q=w_q, x=x)
    if w_k.dim() != 2 or w_k.shape[0] != d_m:
        _fail(f"w_k must be a matrix with {d_m} rows", w_k=w_k)
    if w_v.dim() != 2 or w_v.shape[0] != d_m:
        _fail(f"w_v must be a matrix with {d_m} rows", w_v=w_v)
    if w_q.shape[1] != w_k.shape[1]:
        _fail("w_q and w_k must have as many columns", w_q=w_q, w_k=w_k)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    if x.dim() < 2:
        _fail("x must have two subscripts or more", x=x)
    _check_weights(x, x, w_q, w_k, w_v)
    # one wide projection, cut into three afterwards
    d_k, d_v = w_q.shape[1], w_v.shape[1]
    wide = project_rows(x, torch.cat((w_q, w_k, w_v), 1))
    q = wide.narrow(-1, 0, d_k)
    k = wide.narrow(-1, d_k, d_k)
    v = wide.narrow(-1, 2 * d_k, d_v)
    mask = None
    if causal:
        mask = causal_mask(x.shape[-2], x.device)
    return attention(q, k, v, mask)


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    if x.dim() < 2 or memory.dim() < 2:
        _fail("x and memory must have two subscripts or more", x=x, memory=memory)
    if x.shape[:-2] != memory.shape[:-2]:
        _fail("x and memory must agree in their leading extents", x=x, memory=memory)
    _check_weights(x, memory, w_q, w_k, w_v)
    mask = None
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            _fail("memory_mask must have one flag per memory token",
                  memory_mask=memory_mask, memory=memory)
        mask = memory_mask[..., None, :].expand(*x.shape[:-1], memory.shape[-2])
    q = project_rows(x, w_q)
    d_k, d_v = w_k.shape[1], w_v.shape[1]
    wide = project_rows(memory, torch.cat((w_k, w_v), 1))
    return attention(q, wide.narrow(-1, 0, d_k), wide.narrow(-1, d_k, d_v), mask)
