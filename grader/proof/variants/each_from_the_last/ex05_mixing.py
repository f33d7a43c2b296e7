from __future__ import annotations

from torch import Tensor

from ex01_scores import dot_product_scores, project_rows, spelled
from ex03_masking import apply_mask, causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.dim() != 1 or tokens.dim() != 2 or len(weights) != len(tokens):
        raise ValueError(
            "a linear combination wants one weight [n] for each token [n, d]: "
            f"weights is {spelled(weights)}, tokens is {spelled(tokens)}"
        )
    return mix_values(weights.unsqueeze(0), tokens).squeeze(0)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    # Feature j of the answer is the score of the weights for column j of the values.
    if value.dim() < 2:
        raise ValueError(f"values are rows of a matrix, not {spelled(value)}")
    return dot_product_scores(weights, value.mT)


def fold(x: Tensor, n_heads: int) -> Tensor:
    if x.dim() < 2:
        raise ValueError(f"tokens come as a matrix or a batch of them, not as {spelled(x)}")
    if n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"{n_heads} heads cannot share {x.shape[-1]} features")
    return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).movedim(-2, -3)


def unfold(x: Tensor) -> Tensor:
    if x.dim() < 3:
        raise ValueError(f"heads, tokens, features: three dimensions at least, not {spelled(x)}")
    return x.movedim(-3, -2).flatten(-2)


def many_heads(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None
) -> Tensor:
    heads = [fold(part, n_heads) for part in (query, key, value)]
    if mask is not None:
        # A mask fits if scores without heads can be masked with it; what survives is the mask.
        blank = query.new_zeros(query.shape[:-1] + key.shape[-2:-1])
        mask = apply_mask(blank, mask).isfinite().unsqueeze(-3)
    return unfold(mix_values(attention_weights(heads[0], heads[1], mask), heads[2]))


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    return many_heads(query, key, value, 1, mask)


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    if not causal:
        return cross_attention(x, x, w_q, w_k, w_v)
    query, key, value = (project_rows(x, weight) for weight in (w_q, w_k, w_v))
    return attention(query, key, value, causal_mask(x.shape[-2], x.device))


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Tensor | None = None,
) -> Tensor:
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            raise ValueError(
                "memory_mask has one entry for each token of memory: "
                f"it is {spelled(memory_mask)}, memory is {spelled(memory)}"
            )
        memory_mask = memory_mask.unsqueeze(-2) if memory_mask.dim() else None
    return attention(
        project_rows(x, w_q), project_rows(memory, w_k), project_rows(memory, w_v), memory_mask
    )
