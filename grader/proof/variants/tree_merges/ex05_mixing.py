from __future__ import annotations

import torch
from torch import Tensor
from ex01_scores import dot_product, dot_product_scores

from ex01_scores import project_columns, project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


class Ne(ValueError):
    def __init__(self, *tensors: Tensor) -> None:
        super().__init__()
        self.tensors = tensors

    def __str__(self) -> str:
        return "rozměry " + "†".join("×".join(map(str, t.shape)) for t in self.tensors)


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    dot_product(weights, weights)
    return project_rows(weights[None], tokens)[0]


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    return dot_product_scores(weights, value.mT if value.ndim > 1 else value)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = attention_weights(query.double(), key.double(), mask)
    return mix_values(weights, value.double()).to(query.dtype)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    for w in (w_q, w_k, w_v):
        if w.ndim != 2:
            raise Ne(w)
    if x.ndim < 2:
        raise Ne(x)
    columns = x.mT.double()
    query, key, value = (project_columns(columns, w.double().T).mT for w in (w_q, w_k, w_v))
    if query.shape[-1] != key.shape[-1]:
        raise Ne(w_k)
    mask = causal_mask(x.shape[-2], x.device) if causal else None
    return attention(query, key, value, mask).to(x.dtype)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    query = project_rows(x, w_q)
    try:
        key, value = project_rows(memory, torch.cat((w_k, w_v), 1)).split(
            [w_k.shape[1], w_v.shape[1]], -1
        )
    except (RuntimeError, IndexError) as why:
        raise Ne(w_k, w_v) from why
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            raise Ne(memory_mask)
        memory_mask = memory_mask.unsqueeze(-2)
    return attention(query, key, value, memory_mask)
