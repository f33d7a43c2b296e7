"""Chapter 5 for people who think in arrays."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Optional

import torch
from torch import Tensor

from ex03_masking import causal_mask
from ex04_softmax import attention_weights


@dataclass
class Sizes:
    """[*lead, rows, columns]"""

    lead: tuple
    rows: int
    columns: int

    @classmethod
    def of(cls, name: str, array: Tensor) -> Sizes:
        if array.ndim < 2:
            raise ValueError(f"{name}: ndim {array.ndim} is less than 2, shape {tuple(array.shape)}")
        *lead, rows, columns = array.shape
        return cls(tuple(lead), rows, columns)


def _align(what: str, one, other) -> None:
    if one != other:
        raise ValueError(f"{what}: {one} is not {other}")


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    """w X, with w as a matrix of one row."""
    if weights.ndim != 1:
        raise ValueError(f"weights: ndim {weights.ndim}, shape {tuple(weights.shape)}; wanted ndim 1")
    if tokens.ndim != 2:
        raise ValueError(f"tokens: ndim {tokens.ndim}, shape {tuple(tokens.shape)}; wanted ndim 2")
    _align("weights and tokens", weights.shape[0], tokens.shape[0])
    return torch.addmm(tokens.new_zeros(1, 1), weights[None, :], tokens)[0]


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    """W V"""
    w, v = Sizes.of("weights", weights), Sizes.of("value", value)
    _align("batches of weights and value", w.lead, v.lead)
    _align("keys of weights and value", w.columns, v.rows)
    out = torch.bmm(weights.reshape(-1, w.rows, w.columns), value.reshape(-1, v.rows, v.columns))
    return out.reshape(*w.lead, w.rows, v.columns)


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None) -> Tensor:
    """Weights, then mixture."""
    v, k = Sizes.of("value", value), Sizes.of("key", key)
    _align("(batch, number) of key and value", astuple(k)[:2], astuple(v)[:2])
    return mix_values(attention_weights(query, key, mask), value)


def _wide(tokens: Tensor, *weights: tuple[str, Tensor]) -> tuple[Tensor, ...]:
    """All the projections of one array of tokens as a single product with a wide weight, then cut."""
    size = Sizes.of("tokens", tokens)
    for name, weight in weights:
        if weight.ndim != 2 or weight.shape[0] != size.columns:
            raise ValueError(f"{name}: shape {tuple(weight.shape)} of ndim {weight.ndim}, wanted ({size.columns}, ...)")
    together = torch.concatenate([weight for _, weight in weights], dim=1)
    return torch.split(torch.matmul(tokens, together), [weight.shape[1] for _, weight in weights], dim=-1)


def self_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False) -> Tensor:
    """One product for all three."""
    query, key, value = _wide(x, ("w_q", w_q), ("w_k", w_k), ("w_v", w_v))
    _align("widths of w_q and w_k", w_q.shape[1], w_k.shape[1])
    mask = causal_mask(x.shape[-2], x.device) if causal else None
    return attention(query, key, value, mask)


def cross_attention(
    x: Tensor,
    memory: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    memory_mask: Optional[Tensor] = None,
) -> Tensor:
    """One product for the queries, one for the other two."""
    (query,) = _wide(x, ("w_q", w_q))
    key, value = _wide(memory, ("w_k", w_k), ("w_v", w_v))
    _align("widths of w_q and w_k", w_q.shape[1], w_k.shape[1])
    _align("batches of x and memory", tuple(x.shape[:-2]), tuple(memory.shape[:-2]))
    if memory_mask is not None:
        _align("memory_mask and [*batch, k]", tuple(memory_mask.shape), tuple(memory.shape[:-1]))
        memory_mask = torch.repeat_interleave(memory_mask.unsqueeze(-2), x.shape[-2], dim=-2)
    return attention(query, key, value, memory_mask)
