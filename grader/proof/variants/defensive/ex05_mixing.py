from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import (
    project_rows,
    refuse,
    require_floats,
    require_mask,
    require_matrix,
    require_ndim,
    require_same_batch,
)
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    require_floats(weights, tokens)
    if weights.ndim != 1:
        refuse("`weights` must be a vector", weights=weights, tokens=tokens)
    if tokens.ndim != 2:
        refuse("`tokens` must be a matrix", weights=weights, tokens=tokens)
    if weights.shape[0] != tokens.shape[0]:
        refuse(
            f"there are {weights.shape[0]} weights for {tokens.shape[0]} tokens",
            weights=weights,
            tokens=tokens,
        )
    return torch.matmul(weights, tokens)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    require_floats(weights, value)
    require_ndim(2, weights=weights, value=value)
    if weights.shape[-1] != value.shape[-2]:
        refuse("`weights` and `value` differ in their number of keys", weights=weights, value=value)
    require_same_batch(weights=weights, value=value)
    return torch.matmul(weights, value)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    require_floats(query, key, value)
    require_ndim(2, query=query, key=key, value=value)
    if query.shape[-1] != key.shape[-1]:
        refuse("`query` and `key` differ in width", query=query, key=key, value=value)
    if key.shape[-2] != value.shape[-2]:
        refuse("`key` and `value` differ in number", query=query, key=key, value=value)
    require_same_batch(query=query, key=key, value=value)
    require_mask(mask, (*query.shape[:-1], key.shape[-2]))
    return mix_values(attention_weights(query, key, mask), value)


def _require_equal_widths(w_q: Tensor, w_k: Tensor) -> None:
    if w_q.shape[1] != w_k.shape[1]:
        refuse("`w_q` and `w_k` differ in width", w_q=w_q, w_k=w_k)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    require_floats(x, w_q, w_k, w_v)
    require_ndim(2, x=x)
    for name, weight in (("w_q", w_q), ("w_k", w_k), ("w_v", w_v)):
        require_matrix(weight, name, 0, x.shape[-1], x=x)
    _require_equal_widths(w_q, w_k)
    mask = causal_mask(x.shape[-2], device=x.device) if causal else None
    return attention(project_rows(x, w_q), project_rows(x, w_k), project_rows(x, w_v), mask)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    require_floats(x, memory, w_q, w_k, w_v)
    require_ndim(2, x=x, memory=memory)
    require_matrix(w_q, "w_q", 0, x.shape[-1], x=x)
    require_matrix(w_k, "w_k", 0, memory.shape[-1], memory=memory)
    require_matrix(w_v, "w_v", 0, memory.shape[-1], memory=memory)
    _require_equal_widths(w_q, w_k)
    require_same_batch(x=x, memory=memory)
    mask = None
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            refuse(
                f"`memory_mask` must be exactly {tuple(memory.shape[:-1])}",
                memory_mask=memory_mask,
                memory=memory,
                x=x,
            )
        require_mask(memory_mask, memory.shape[:-1], "memory_mask")
        mask = memory_mask.unsqueeze(-2)
    return attention(
        project_rows(x, w_q), project_rows(memory, w_k), project_rows(memory, w_v), mask
    )
