from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights

CHUNK = 128  # queries that are worked on at once


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.ndim != 1:
        raise ValueError(
            f"weights must be 1-d, got {weights.ndim}-d {list(weights.shape)} "
            f"for tokens {list(tokens.shape)}"
        )
    if tokens.ndim != 2:
        raise ValueError(f"tokens must be 2-d, got {tokens.ndim}-d {list(tokens.shape)}")
    if weights.numel() != tokens.shape[0]:
        raise ValueError(f"{weights.numel()} weights for {tokens.shape[0]} tokens")
    return torch.addmv(tokens.new_zeros(tokens.shape[1]), tokens.t(), weights)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    if weights.ndim < 2 or value.ndim < 2:
        raise ValueError(
            f"weights and value must be at least 2-d, got {list(weights.shape)} and "
            f"{list(value.shape)}"
        )
    *batch, q, k = weights.shape
    *value_batch, rows, d_v = value.shape
    if k != rows:
        raise ValueError(f"weights for {k} keys, but {rows} values")
    if batch != value_batch:
        raise ValueError(
            f"weights {list(weights.shape)} and value {list(value.shape)}: "
            f"batch {batch} is not {value_batch}"
        )
    total = prod(batch)
    return torch.bmm(weights.reshape(total, q, k), value.reshape(total, k, d_v)).reshape(
        *batch, q, d_v
    )


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    for name, part in (("query", query), ("key", key), ("value", value)):
        if part.ndim < 2:
            raise ValueError(f"{name} must be at least 2-d, got {part.ndim}-d {list(part.shape)}")
    if mask is not None:
        room = [*query.shape[:-1], key.shape[-2]]
        try:
            mask = mask.expand(room)
        except RuntimeError as error:
            raise ValueError(f"cannot expand mask {list(mask.shape)} to {room}") from error
    out = query.new_empty(*query.shape[:-1], value.shape[-1])
    # A block of queries at a time: never more than CHUNK rows of scores.
    for start in range(0, query.shape[-2], CHUNK):
        rows = slice(start, start + CHUNK)
        part = None if mask is None else mask[..., rows, :]
        weights = attention_weights(query[..., rows, :], key, part)
        out[..., rows, :] = mix_values(weights, value)
    return out


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    query = project_rows(x, w_q)
    key = project_rows(x, w_k)
    value = project_rows(x, w_v)
    return attention(query, key, value, causal_mask(x.shape[-2], x.device) if causal else None)


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
    if memory_mask is not None:
        if list(memory_mask.shape) != list(memory.shape[:-1]):
            raise ValueError(
                f"memory_mask must be {list(memory.shape[:-1])}, got {list(memory_mask.shape)}"
            )
        memory_mask = memory_mask.unsqueeze(-2)
    return attention(query, key, value, memory_mask)
