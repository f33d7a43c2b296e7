"""Chapter 5, sequence after sequence."""

from __future__ import annotations

from contextlib import contextmanager

import torch
from torch import Tensor

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


class MixMisfit(ValueError):
    """Weights and values, or what they come from, that do not go together."""


@contextmanager
def _otherwise(sentence: str):
    try:
        yield
    except (RuntimeError, IndexError, ValueError) as error:
        raise MixMisfit(f"{sentence} [{type(error).__name__}]") from error


def _ghost(*sizes: int) -> Tensor:
    return torch.empty(sizes, device="meta")


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    """Token after token, on top of the sum of no tokens."""
    with _otherwise(f"weights {tuple(weights.shape)} do not weigh tokens {tuple(tokens.shape)}."):
        (n,), (rows, _) = weights.shape, tokens.shape
        torch.stack([_ghost(n), _ghost(rows)])
    wide = torch.promote_types(tokens.dtype, torch.float32)
    total = (tokens[:0] * weights[:0, None]).sum(0).to(wide)
    for weight, token in zip(weights, tokens):
        total = total + weight.to(wide) * token.to(wide)
    return total.to(tokens.dtype)


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    """Sequence after sequence, query after query."""
    with _otherwise(f"weights {tuple(weights.shape)} do not mix values {tuple(value.shape)}."):
        (*batch, q, k), (*batch_v, k_v, d_v) = weights.shape, value.shape
        torch.stack([_ghost(*batch, k), _ghost(*batch_v, k_v)])
    out = []
    for shares, values in zip(weights.reshape(-1, q, k), value.reshape(-1, k, d_v)):
        for share in shares:
            out.append(values.t() @ share)
    return torch.stack(out).reshape(*batch, q, d_v)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    """Each sequence by itself, with its own piece of the mask."""
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    with _otherwise(f"No attention between {shapes}."):
        (*batch, q, d_k), (*batch_k, k, d_key), (*batch_v, k_v, d_v) = query.shape, key.shape, value.shape
        torch.stack([_ghost(*batch, d_k), _ghost(*batch_k, d_key)])
        torch.stack([_ghost(*batch, k), _ghost(*batch_v, k_v)])
    if mask is None:
        pieces = [None] * max(1, torch.Size(batch).numel())
    else:
        with _otherwise(f"A mask of {tuple(mask.shape)} is not for {tuple([*batch, q, k])}."):
            pieces = mask.expand(*batch, q, k).reshape(-1, q, k)
    out = []
    for one_query, one_key, one_value, piece in zip(
        query.reshape(-1, q, d_k), key.reshape(-1, k, d_k), value.reshape(-1, k, d_v), pieces
    ):
        out.append(mix_values(attention_weights(one_query, one_key, piece), one_value))
    return torch.stack(out).reshape(*batch, q, d_v)


def self_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False) -> Tensor:
    """Three projections, made in a loop."""
    parts = []
    for name, weight in (("w_q", w_q), ("w_k", w_k), ("w_v", w_v)):
        with _otherwise(f"{name} is {tuple(weight.shape)}, x is {tuple(x.shape)}."):
            parts.append(project_rows(x, weight))
    return attention(*parts, mask=causal_mask(x.size(-2), device=x.device) if causal else None)


def cross_attention(
    x: Tensor, memory: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, memory_mask: Tensor | None = None
) -> Tensor:
    """Three projections, made in a loop, of two sequences."""
    parts = []
    for name, tokens, weight in (("w_q", x, w_q), ("w_k", memory, w_k), ("w_v", memory, w_v)):
        with _otherwise(f"{name} is {tuple(weight.shape)}, its tokens are {tuple(tokens.shape)}."):
            parts.append(project_rows(tokens, weight))
    if memory_mask is not None:
        with _otherwise(f"memory_mask is {tuple(memory_mask.shape)}, memory is {tuple(memory.shape)}."):
            torch.stack([_ghost(*memory_mask.shape), _ghost(*memory.shape[:-1])])
        memory_mask = memory_mask.unsqueeze(-2)
    return attention(*parts, mask=memory_mask)
