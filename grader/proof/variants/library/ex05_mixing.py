"""Style library: torch.softmax, which is allowed from here on, and nan_to_num for blind rows."""

from __future__ import annotations

import torch
from torch import Tensor

from ex01_scores import dot_product_scores, misfit, project_rows
from ex03_masking import causal_mask


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.ndim != 1 or tokens.ndim != 2 or weights.shape[0] != tokens.shape[0]:
        misfit("w T", weights, tokens)
    return torch.tensordot(weights, tokens, dims=1)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    if weights.ndim < 2 or value.ndim < 2:
        misfit("A V", weights, value)
    if weights.shape[:-2] != value.shape[:-2] or weights.shape[-1] != value.shape[-2]:
        misfit("A V", weights, value)
    return torch.linalg.matmul(weights, value)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = dot_product_scores(query, key) * query.shape[-1] ** -0.5
    if mask is None:
        return mix_values(scores.softmax(-1), value)
    if torch.broadcast_shapes(scores.shape) != _together(scores, mask):
        misfit("masked scores", scores, mask)
    closed = ~mask
    # the NaN of a blind row goes no further than these two lines, in either direction:
    # masked_fill lets no gradient through where it filled
    weights = scores.masked_fill(closed, -torch.inf).softmax(-1)
    weights = weights.masked_fill(closed, 0.0)
    return mix_values(weights, value)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    query, key, value = map(project_rows, (x, x, x), (w_q, w_k, w_v))
    n = x.shape[-2]
    return attention(query, key, value, causal_mask(n, x.device) if causal else None)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    query, key, value = map(project_rows, (x, memory, memory), (w_q, w_k, w_v))
    if memory_mask is None:
        return attention(query, key, value)
    if memory_mask.shape != memory.shape[:-1]:
        misfit("masked memory", memory, memory_mask)
    return attention(query, key, value, memory_mask.unsqueeze(-2))


def _together(scores: Tensor, mask: Tensor) -> torch.Size | None:
    try:
        return torch.broadcast_shapes(scores.shape, mask.shape)
    except RuntimeError:
        return None
