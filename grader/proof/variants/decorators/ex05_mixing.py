"""Chapter 5: recursion over tokens and over batches; shapes are declared."""

from __future__ import annotations

import torch
from torch import nn

from ex01_scores import PerSequence, fits, project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights

_mix = PerSequence(torch.mm)


@fits(weights="n", tokens="n d")
def linear_combination(weights, tokens):
    """Half of them plus the other half."""
    if len(tokens) <= 8:
        return torch.mv(tokens.t(), weights)
    return sum(linear_combination(w, t) for w, t in zip(weights.tensor_split(2), tokens.tensor_split(2)))


@fits(weights="*b q k", value="*b k d_v")
def mix_values(weights, value):
    """One product per sequence."""
    return _mix(weights, value)


@fits(value="*b k d_v", key="*b k d_k", query="*b q d_k", mask="<= *b q k")
def attention(query, key, value, mask=None):
    """Weights, then values."""
    return mix_values(attention_weights(query, key, mask), value)


class Projected(nn.Module):
    """Attention with three given matrices. They are weights of the caller's, so they stay plain tensors."""

    def __init__(self, w_q, w_k, w_v):
        super().__init__()
        self.given = {"query": w_q, "key": w_k, "value": w_v}

    def forward(self, asking, offering, mask):
        source = {"query": asking, "key": offering, "value": offering}
        return attention(mask=mask, **{part: project_rows(source[part], w) for part, w in self.given.items()})


@fits(x="*b n d", w_q="d d_k", w_k="d d_k", w_v="d d_v")
def self_attention(x, w_q, w_k, w_v, causal=False):
    """x looks at x."""
    masks = {False: lambda: None, True: lambda: causal_mask(x.size(-2), device=x.device)}
    return Projected(w_q, w_k, w_v)(x, x, masks[bool(causal)]())


@fits(x="*b q d", memory="*b k d_m", w_q="d d_k", w_k="d_m d_k", w_v="d_m d_v", memory_mask="*b k")
def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    """x looks at memory."""
    return Projected(w_q, w_k, w_v)(x, memory, None if memory_mask is None else memory_mask.unsqueeze(-2))
