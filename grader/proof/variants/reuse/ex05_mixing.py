"""Style reuse: every function is a few calls of earlier ones."""

from __future__ import annotations

from torch import Tensor

from exercises.ex01_scores import dot_product_scores, project_rows
from exercises.ex03_masking import causal_mask
from exercises.ex04_softmax import attention_weights


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.dim() != 1 or tokens.dim() != 2 or weights.numel() != tokens.size(0):
        raise ValueError(f"Weights of {weights.size()} do not combine tokens of {tokens.size()}.")
    return project_rows(weights[None, :], tokens)[0]


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    if value.dim() < 2:
        raise ValueError(f"Weights are {weights.size()}, but values are {value.size()}.")
    # a weighted sum over the keys is a score against each column of the values
    return dot_product_scores(weights, value.transpose(-1, -2))


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    if not causal:
        return cross_attention(x, x, w_q, w_k, w_v)
    weights = attention_weights(
        project_rows(x, w_q), project_rows(x, w_k), causal_mask(x.size(-2), x.device)
    )
    return project_rows_of_mixture(weights, x, w_v)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    if memory_mask is not None:
        if memory_mask.size() != memory.size()[:-1]:
            raise ValueError(f"{memory_mask.size()} does not mask a memory of {memory.size()}.")
        memory_mask = memory_mask[..., None, :]
    weights = attention_weights(project_rows(x, w_q), project_rows(memory, w_k), memory_mask)
    return project_rows_of_mixture(weights, memory, w_v)


def project_rows_of_mixture(weights: Tensor, tokens: Tensor, w_v: Tensor) -> Tensor:
    """Mix first and project then: A (X W) = (A X) W."""
    return project_rows(mix_values(weights, tokens), w_v)
