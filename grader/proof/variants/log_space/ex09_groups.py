"""Groups of heads, with weights that are logarithms until the end: by a stranger who had the stubs only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import math


class SizeError(ValueError):
    """A size that does not fit."""


def repeat_heads(x, times):
    if x.dim() < 3:
        raise SizeError("x: " + str(list(x.shape)))
    if times < 1:
        raise SizeError("times: " + str(times))
    shape = list(x.shape)
    shape.insert(-2, times)
    out = x.unsqueeze(-3).expand(shape)
    return out.reshape(*x.shape[:-3], x.shape[-3] * times, *x.shape[-2:])


def grouped_attention(query, key, value, mask=None):
    said = (
        f"query={list(query.shape)} key={list(key.shape)} value={list(value.shape)}"
    )
    if any(t.dim() < 3 for t in (query, key, value)):
        raise SizeError(said)
    batch = list(query.shape[:-3])
    h, q, d_k = query.shape[-3:]
    g, k, _ = key.shape[-3:]
    d_v = value.shape[-1]
    if (
        list(key.shape) != [*batch, g, k, d_k]
        or list(value.shape) != [*batch, g, k, d_v]
        or h % g
    ):
        raise SizeError(said)
    B, r = math.prod(batch), h // g
    if mask is not None:
        try:
            mask = torch.broadcast_to(mask, (*batch, q, k)).reshape(B, 1, q, k)
        except RuntimeError as error:
            raise SizeError(f"mask={list(mask.shape)} {said}") from error
        mask = mask.expand(B, r, q, k).reshape(B, r * q, k)
        dead = mask.logical_not().all(-1, keepdim=True)
    answers = []
    for i in range(g):
        asked = query[..., i * r : (i + 1) * r, :, :].reshape(B, r * q, d_k)
        offered = key[..., i, :, :].reshape(B, k, d_k)
        logits = torch.bmm(asked, offered.mT).div(math.sqrt(d_k))
        if mask is not None:
            logits = logits.masked_fill(~(mask | dead), -math.inf)
        log_weights = logits - logits.logsumexp(-1, keepdim=True)
        weights = log_weights.exp()
        if mask is not None:
            weights = weights.masked_fill(dead, 0.0)
        answers.append(
            torch.bmm(weights, value[..., i, :, :].reshape(B, k, d_v)).reshape(
                *batch, r, q, d_v
            )
        )
    return torch.cat(answers, dim=-3)


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    one_word = (
        2
        * n_layers
        * n_kv_heads
        * d_head
        * torch.tensor([], dtype=dtype).element_size()
    )
    return one_word * n * batch


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if not (n_heads >= 1 and d_model % n_heads == 0):
            raise SizeError(f"d_model={d_model} n_heads={n_heads}")
        if not (n_kv_heads >= 1 and n_heads % n_kv_heads == 0):
            raise SizeError(f"n_heads={n_heads} n_kv_heads={n_kv_heads}")
        self.sizes = (d_model, n_heads, n_kv_heads, d_model // n_heads)
        d = d_model // n_heads * n_kv_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d, bias=bias)
        self.w_v = nn.Linear(d_model, d, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory=None, mask=None):
        d_model, h, g, d_head = self.sizes
        if memory is None:
            memory = x
        if (
            x.dim() < 2
            or memory.dim() < 2
            or x.shape[-1] != d_model
            or memory.shape[-1] != d_model
        ):
            raise SizeError(
                f"x={list(x.shape)} memory={list(memory.shape)} d_model={d_model}"
            )
        if x.shape[:-2] != memory.shape[:-2]:
            raise SizeError(f"x={list(x.shape)} memory={list(memory.shape)}")
        query = self.w_q(x).reshape(*x.shape[:-1], h, d_head).swapaxes(-2, -3)
        key = (
            self.w_k(memory).reshape(*memory.shape[:-1], g, d_head).swapaxes(-2, -3)
        )
        value = (
            self.w_v(memory).reshape(*memory.shape[:-1], g, d_head).swapaxes(-2, -3)
        )
        return self.w_o(
            grouped_attention(query, key, value, mask)
            .swapaxes(-2, -3)
            .reshape(x.shape)
        )
