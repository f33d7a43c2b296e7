"""Style einsum: values are mixed by letters; the projections as well."""

from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.dim() != 1 or tokens.dim() != 2 or weights.shape[0] != tokens.shape[0]:
        raise ValueError(
            f"'n,nd->d' cannot be: the sizes are {list(weights.shape)}, {list(tokens.shape)}"
        )
    return torch.einsum("n,nd->d", weights, tokens)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    if (
        weights.dim() != value.dim()
        or weights.dim() < 2
        or weights.shape[:-2] != value.shape[:-2]
        or weights.shape[-1] != value.shape[-2]
    ):
        raise ValueError(
            "'...qk,...kv->...qv' cannot be: the sizes are "
            f"{list(weights.shape)}, {list(value.shape)}"
        )
    return torch.einsum("...qk,...kv->...qv", weights, value)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = attention_weights(query, key, mask)
    return mix_values(weights, value)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    query, key, value = (project_rows(x, weight) for weight in (w_q, w_k, w_v))
    mask = causal_mask(x.shape[-2], device=x.device) if causal else None
    return attention(query, key, value, mask)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    query = project_rows(x, w_q)
    key, value = project_rows(memory, w_k), project_rows(memory, w_v)
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            raise ValueError(
                f"a memory of {list(memory.shape)} has no use for a mask of "
                f"{list(memory_mask.shape)}"
            )
        # the same doors for each of the q queries
        everyone = torch.ones(x.shape[-2], dtype=torch.uint8, device=x.device)
        pages = torch.einsum("...k,q->...qk", memory_mask.to(torch.uint8), everyone)
        return attention(query, key, value, pages.bool())
    return attention(query, key, value)
