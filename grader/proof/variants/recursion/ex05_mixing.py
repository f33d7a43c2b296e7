"""Mixing, spelled out: value by value."""

from __future__ import annotations

import torch

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def _fail(text, *tensors):
    shapes = []
    for t in tensors:
        shapes.append(str(tuple(t.shape)) if t.dim() > 0 else "a single number (0 dimensions)")
    raise ValueError(text + ": " + " vs ".join(shapes))


def _add_up(terms):
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _add_up(terms[:middle]) + _add_up(terms[middle:])


def _wide(t):
    if t.dtype == torch.float16 or t.dtype == torch.bfloat16:
        return t.to(torch.float32)
    return t


def linear_combination(weights, tokens):
    if weights.dim() != 1:
        _fail("weights must be a vector", weights)
    if tokens.dim() != 2:
        _fail("tokens must be a matrix", tokens)
    if len(weights) != len(tokens):
        _fail("not as many weights as tokens", weights, tokens)
    if len(tokens) == 0:
        # A sum over no tokens. Summing the empty table keeps the way back for the gradients.
        return (weights.unsqueeze(1) * tokens).sum(dim=0)
    terms = []
    for number, token in zip(weights, tokens):
        terms.append(_wide(number) * _wide(token))
    return _add_up(terms).to(tokens.dtype)


def mix_values(weights, value):
    if weights.dim() < 2 or value.dim() < 2:
        _fail("weights and value must have two dimensions at least", weights, value)
    if weights.shape[-1] != value.shape[-2]:
        _fail("not as many values as weights in a row", weights, value)
    if weights.dim() != value.dim() or weights.shape[:-2] != value.shape[:-2]:
        _fail("weights and value are not of one batch", weights, value)
    terms = []
    for j in range(value.shape[-2]):
        amount = weights[..., :, j : j + 1]
        one_value = value[..., j : j + 1, :]
        terms.append(_wide(amount) * _wide(one_value))
    return _add_up(terms).to(value.dtype)


def attention(query, key, value, mask=None):
    weights = attention_weights(query, key, mask)
    if value.dim() < 2:
        _fail("value must have two dimensions at least", value)
    if key.shape[-2] != value.shape[-2]:
        _fail("not as many values as keys", key, value)
    return mix_values(weights, value)


def self_attention(x, w_q, w_k, w_v, causal=False):
    projected = []
    for w in (w_q, w_k, w_v):
        projected.append(project_rows(x, w))
    query, key, value = projected
    mask = None
    if causal:
        mask = causal_mask(x.shape[-2], device=x.device)
    return attention(query, key, value, mask)


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    query = project_rows(x, w_q)
    key = project_rows(memory, w_k)
    value = project_rows(memory, w_v)
    if memory_mask is not None:
        if tuple(memory_mask.shape) != tuple(memory.shape[:-1]):
            _fail("memory_mask must have a place for each token of memory", memory_mask, memory)
        if x.shape[:-2] != memory.shape[:-2]:
            _fail("x and memory are not of one batch", x, memory)
        copies = []
        for _ in range(x.shape[-2]):
            copies.append(memory_mask)
        memory_mask = torch.stack(copies, dim=-2)
    return attention(query, key, value, memory_mask)
