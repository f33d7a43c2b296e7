"""Style float64 inside: from the first product to the last in double precision."""

import torch

from ex01_scores import check, project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights, tokens):
    shapes = f"weights.shape is {tuple(weights.shape)} and tokens.shape is {tuple(tokens.shape)}"
    check(weights.ndim == 1 and tokens.ndim == 2, f"{shapes}: expected 1 and 2 dimensions")
    check(weights.shape[0] == tokens.shape[0], f"{shapes}: n does not agree")
    return torch.matmul(weights.double(), tokens.double()).to(tokens.dtype)


def mix_values(weights, value):
    shapes = f"weights.shape is {tuple(weights.shape)} and value.shape is {tuple(value.shape)}"
    check(weights.ndim >= 2 and value.ndim >= 2, f"{shapes}: expected 2 or more dimensions")
    check(weights.shape[:-2] == value.shape[:-2], f"{shapes}: batches do not agree")
    check(weights.shape[-1] == value.shape[-2], f"{shapes}: k does not agree")
    return torch.matmul(weights.double(), value.double()).to(value.dtype)


def attention(query, key, value, mask=None):
    wide = [tensor.double() for tensor in (query, key, value)]
    weights = attention_weights(wide[0], wide[1], mask)
    return mix_values(weights, wide[2]).to(query.dtype)


def self_attention(x, w_q, w_k, w_v, causal=False):
    wide = x.double()
    query, key, value = [project_rows(wide, weight.double()) for weight in (w_q, w_k, w_v)]
    check(
        query.shape == key.shape,
        f"w_q.shape is {tuple(w_q.shape)} but w_k.shape is {tuple(w_k.shape)}",
    )
    mask = None
    if causal:
        mask = causal_mask(wide.shape[-2], device=wide.device)
    return attention(query, key, value, mask).to(x.dtype)


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    if memory_mask is not None:
        check(
            memory_mask.shape == memory.shape[:-1],
            f"memory_mask.shape is {tuple(memory_mask.shape)}, expected {tuple(memory.shape[:-1])}",
        )
        memory_mask = memory_mask.unsqueeze(-2)
    query = project_rows(x.double(), w_q.double())
    key = project_rows(memory.double(), w_k.double())
    value = project_rows(memory.double(), w_v.double())
    return attention(query, key, value, memory_mask).to(x.dtype)
