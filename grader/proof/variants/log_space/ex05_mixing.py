from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import SizeError, project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.dim() != 1 or tokens.dim() != 2 or weights.size(0) != tokens.size(0):
        raise SizeError("wanted [n] weights and [n, d] tokens", weights=weights, tokens=tokens)
    return torch.mv(tokens.t(), weights)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    if weights.dim() < 2 or value.dim() < 2:
        raise SizeError("wanted at least 2 dimensions", weights=weights, value=value)
    if weights.size(-1) != value.size(-2):
        raise SizeError("wanted one value for each key", weights=weights, value=value)
    if weights.shape[:-2] != value.shape[:-2]:
        raise SizeError("wanted one batch", weights=weights, value=value)
    return weights.matmul(value)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    for name, weight in {"w_q": w_q, "w_k": w_k, "w_v": w_v}.items():
        if x.dim() < 2 or weight.dim() != 2 or weight.size(0) != x.size(-1):
            raise SizeError(
                "wanted x [*batch, n, d] and a weight [d, ...]", **{"x": x, name: weight}
            )
    if w_q.size(1) != w_k.size(1):
        raise SizeError("wanted queries and keys of one width", w_q=w_q, w_k=w_k)
    mask = causal_mask(x.size(-2), x.device) if causal else None
    # x W_q (x W_k)^T = x (W_q W_k^T) x^T would save a product, but not its rounding
    return attention(x.matmul(w_q), x.matmul(w_k), x.matmul(w_v), mask)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    query = project_rows(x, w_q)
    key = project_rows(memory, w_k)
    value = project_rows(memory, w_v)
    if memory_mask is None:
        return attention(query, key, value)
    if memory_mask.shape != memory.shape[:-1]:
        raise SizeError("wanted a mask [*batch, k]", memory_mask=memory_mask, memory=memory)
    return attention(query, key, value, memory_mask.unsqueeze(-2))
