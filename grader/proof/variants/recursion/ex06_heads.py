"""Heads, spelled out: one after the other."""

from __future__ import annotations

import torch
from torch import nn

from ex05_mixing import attention


def _fail(text, *tensors):
    shapes = []
    for t in tensors:
        shapes.append(str(tuple(t.shape)) if t.dim() > 0 else "a single number (0 dimensions)")
    raise ValueError(text + ": " + " vs ".join(shapes))


def _pieces(x, n_heads):
    """A list with one piece [*batch, n, d_head] per head."""
    d_model = x.shape[-1]
    _check_heads(d_model, n_heads)
    d_head = d_model // n_heads
    pieces = []
    for start in range(0, d_model, d_head):
        pieces.append(x[..., start : start + d_head])
    return pieces


def _check_heads(d_model, n_heads):
    if n_heads < 1:
        raise ValueError(f"n_heads must be 1 at least, not {n_heads}")
    if d_model % n_heads > 0:
        raise ValueError(f"d_model {d_model} cannot be cut into {n_heads} equal pieces")


def split_heads(x, n_heads):
    if x.dim() < 2:
        _fail("x must have two dimensions at least", x)
    return torch.stack(_pieces(x, n_heads), dim=-3)


def merge_heads(x):
    if x.dim() < 3:
        _fail("x must have three dimensions at least", x)
    heads = []
    for h in range(x.shape[-3]):
        heads.append(x[..., h, :, :])
    return torch.cat(heads, dim=-1)


def multi_head(query, key, value, n_heads, mask=None):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        _fail("query, key and value must have two dimensions at least", query, key, value)
    if query.shape[-1] != key.shape[-1] or key.shape[-1] != value.shape[-1]:
        _fail("query, key and value are not of one width", query, key, value)
    if query.shape[:-2] != key.shape[:-2] or key.shape[:-2] != value.shape[:-2]:
        _fail("query, key and value are not of one batch", query, key, value)
    if key.shape[-2] != value.shape[-2]:
        _fail("not as many values as keys", key, value)
    answers = []
    for q, k, v in zip(_pieces(query, n_heads), _pieces(key, n_heads), _pieces(value, n_heads)):
        answers.append(attention(q, k, v, mask))
    return torch.cat(answers, dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        _check_heads(d_model, n_heads)
        self.d_model = d_model
        self.n_heads = n_heads
        for name in ["w_q", "w_k", "w_v", "w_o"]:
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x, memory=None, mask=None):
        if memory is None:
            memory = x
        for tokens in (x, memory):
            if tokens.dim() < 2:
                _fail("x and memory must have two dimensions at least", x, memory)
            if tokens.shape[-1] != self.d_model:
                _fail(f"x and memory must be {self.d_model} wide", x, memory)
        if x.shape[:-2] != memory.shape[:-2]:
            _fail("x and memory are not of one batch", x, memory)
        joined = multi_head(self.w_q(x), self.w_k(memory), self.w_v(memory), self.n_heads, mask)
        return self.w_o(joined)
