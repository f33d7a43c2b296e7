"""Style views: one bmm mixes the values; the three projections are one wide one, cut apart."""

import torch

from ex01_scores import ShapeError, fold, project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(weights, tokens):
    if weights.ndim != 1 or tokens.ndim != 2 or weights.shape != tokens.shape[:1]:
        raise ShapeError("not one weight per token", weights=weights, tokens=tokens)
    return torch.mv(tokens.t(), weights)


def mix_values(weights, value):
    if weights.ndim < 2 or value.ndim < 2 or weights.shape[:-2] != value.shape[:-2]:
        raise ShapeError("the batches are not the same", weights=weights, value=value)
    if weights.shape[-1] != value.shape[-2]:
        raise ShapeError("not one weight per value", weights=weights, value=value)
    mixed = fold(weights).bmm(fold(value))
    return mixed.reshape(*weights.shape[:-1], value.shape[-1])


def attention(query, key, value, mask=None):
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(x, w_q, w_k, w_v, causal=False):
    weights = {"w_q": w_q, "w_k": w_k, "w_v": w_v}
    for name, weight in weights.items():
        if x.ndim < 2 or weight.ndim != 2 or weight.shape[0] != x.shape[-1]:
            raise ShapeError(f"x {name} is not defined", x=x, **{name: weight})
    if w_q.shape != w_k.shape:
        raise ShapeError("queries and keys would differ in width", w_q=w_q, w_k=w_k)
    widths = [weight.shape[1] for weight in weights.values()]
    wide = project_rows(x, torch.cat(list(weights.values()), dim=1))
    query, key, value = wide.split(widths, dim=-1)
    mask = causal_mask(x.shape[-2], x.device) if causal else None
    return attention(query, key, value, mask)


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    if memory_mask is not None:
        if memory_mask.shape != memory.shape[:-1]:
            raise ShapeError("not one door per token", memory_mask=memory_mask, memory=memory)
        memory_mask = memory_mask.unsqueeze(-2)
    query = project_rows(x, w_q)
    if w_k.ndim != 2 or w_v.ndim != 2 or w_k.shape[0] != w_v.shape[0]:
        raise ShapeError("w_k and w_v would not take the same memory", w_k=w_k, w_v=w_v)
    both = project_rows(memory, torch.hstack((w_k, w_v)))
    key, value = both.tensor_split((w_k.shape[1],), dim=-1)
    return attention(query, key, value, memory_mask)
