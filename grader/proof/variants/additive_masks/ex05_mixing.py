"""Style additive masks, chapter 5: memory masks are widened to all queries and added."""

from __future__ import annotations

from torch import Tensor

from .ex01_scores import project_rows
from .ex02_scaling import scaled_scores
from .ex03_masking import additive, causal_mask
from .ex04_softmax import attention_weights, softmax


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.ndim != 1 or tokens.ndim != 2:
        raise ValueError(f"weights is {tuple(weights.shape)}, tokens is {tuple(tokens.shape)}")
    if len(weights) != len(tokens):
        raise ValueError(f"there are {len(weights)} weights for {len(tokens)} tokens")
    return (weights.unsqueeze(1) * tokens).sum(0)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    if min(weights.ndim, value.ndim) < 2 or weights.shape[:-2] != value.shape[:-2]:
        raise ValueError(f"weights is {tuple(weights.shape)}, value is {tuple(value.shape)}")
    if weights.shape[-1] != value.shape[-2]:
        raise ValueError(f"there are {weights.shape[-1]} weights for {value.shape[-2]} values")
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    scores = scaled_scores(project_rows(x, w_q), project_rows(x, w_k))
    if causal:
        scores = scores + additive(causal_mask(x.shape[-2], x.device), scores.dtype)
    return mix_values(softmax(scores), project_rows(x, w_v))


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    scores = scaled_scores(project_rows(x, w_q), project_rows(memory, w_k))
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            raise ValueError(
                f"memory_mask is {tuple(memory_mask.shape)}, and there are "
                f"{tuple(memory.shape[:-1])} memory tokens"
            )
        scores = scores + additive(memory_mask, scores.dtype).unsqueeze(-2)
    return mix_values(softmax(scores), project_rows(memory, w_v))
