from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ex01_scores import project_rows
from ex02_scaling import scaled_scores
from ex03_masking import apply_mask, causal_mask


def linear_combination(weights: Tensor, tokens: Tensor) -> Tensor:
    if weights.dim() != 1:
        raise ValueError(
            f"weights should be a vector but has {weights.dim()} dimensions, shape is {weights.shape} (tokens: {tokens.shape})"
        )
    if tokens.dim() != 2:
        raise ValueError(
            f"tokens should be a matrix but has {tokens.dim()} dimensions, shape is {tokens.shape}"
        )
    if weights.size(0) != tokens.size(0):
        raise ValueError(f"{weights.size(0)} weights but {tokens.size(0)} tokens")
    weights_as_column = weights.unsqueeze(1)
    weighted_tokens = weights_as_column * tokens
    combination = weighted_tokens.sum(dim=0)
    return combination


def mix_values(weights: Tensor, value: Tensor) -> Tensor:
    if weights.dim() < 2:
        raise ValueError(
            f"weights should have 2 or more dimensions but has {weights.dim()}, shape is {weights.shape}"
        )
    if value.dim() < 2:
        raise ValueError(
            f"value should have 2 or more dimensions but has {value.dim()}, shape is {value.shape}"
        )
    if weights.size(-1) != value.size(-2):
        raise ValueError(f"weights are for {weights.size(-1)} keys, value has {value.size(-2)}")
    if weights.shape[:-2] != value.shape[:-2]:
        raise ValueError(
            f"the batches of weights and value differ: shapes {weights.shape} and {value.shape}"
        )
    mixed = torch.matmul(weights, value)
    return mixed


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
    # from here on torch.softmax is allowed, but it gives NaN for a row of -inf only
    scores = scaled_scores(query, key)
    if mask is None:
        weights = F.softmax(scores, dim=-1)
    else:
        masked = apply_mask(scores, mask)
        mask = mask.expand(scores.shape)
        sees_something = mask.any(dim=-1, keepdim=True)
        sees_nothing = ~sees_something
        masked = masked.masked_fill(sees_nothing, 0.0)
        weights = F.softmax(masked, dim=-1)
        weights = weights.masked_fill(sees_nothing, 0.0)
    mixed = mix_values(weights, value)
    return mixed


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, causal: bool = False
) -> Tensor:
    query = project_rows(x, w_q)
    key = project_rows(x, w_k)
    value = project_rows(x, w_v)
    if causal:
        n = x.size(-2)
        mask = causal_mask(n, device=x.device)
    else:
        mask = None
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
    key = project_rows(memory, w_k)
    value = project_rows(memory, w_v)
    mask = None
    if memory_mask is not None:
        expected = memory.shape[:-1]
        if memory_mask.shape != expected:
            raise ValueError(f"memory_mask should be {expected} but is {memory_mask.shape}")
        mask = memory_mask.unsqueeze(-2)
    return attention(query, key, value, mask)
