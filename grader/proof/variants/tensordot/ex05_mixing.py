from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import check, project_rows, shapes
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    both = shapes(weights=weights, tokens=tokens)
    check(weights.ndim == 1, f"weights must be 1-d: {both}")
    check(tokens.ndim == 2, f"tokens must be 2-d: {both}")
    check(weights.shape[0] == tokens.shape[0], f"first axes differ: {both}")
    return torch.tensordot(weights, tokens, dims=([0], [0]))


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    both = shapes(weights=weights, value=value)
    check(weights.ndim >= 2 and value.ndim >= 2, f"need at least 2-d: {both}")
    check(weights.shape[-1] == value.shape[-2], f"keys differ: {both}")
    check(weights.shape[:-2] == value.shape[:-2], f"leading axes differ: {both}")
    return torch.einsum("...qk,...kv->...qv", weights, value)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    q, k, v = (project_rows(x, w) for w in (w_q, w_k, w_v))
    mask = causal_mask(x.shape[-2], device=x.device) if causal else None
    return attention(q, k, v, mask)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    q, k, v = project_rows(x, w_q), project_rows(memory, w_k), project_rows(memory, w_v)
    if memory_mask is not None:
        check(
            memory_mask.shape == memory.shape[:-1],
            f"memory_mask is not memory without its last axis: "
            f"{shapes(memory_mask=memory_mask, memory=memory)}",
        )
        memory_mask = memory_mask[..., None, :]
    return attention(q, k, v, memory_mask)
