"""Windows with a backward pass of their own: by a stranger who had the stubs only."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ex03_masking import causal_mask
from ex05_mixing import attention


def causal_mask_at(q, k, device=None):
    if k < q:
        raise ValueError(f"q={q} is more than k={k}")
    return torch.ones(q, k, dtype=torch.bool, device=device).tril(k - q)


def window_mask(q, k, window, sinks=0, device=None):
    causal = causal_mask_at(q, k, device)
    if window < 1:
        raise ValueError(f"window must be 1 or more, not {window}")
    if sinks < 0:
        raise ValueError(f"sinks must be 0 or more, not {sinks}")
    band = causal.triu(k - q - min(window, k + 1) + 1)
    first = causal.clone()
    first[:, sinks:] = False
    return band | first


def _check(query, key, value, window):
    shapes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(f"two dimensions are needed: {shapes}")
    if query.size(-1) != key.size(-1):
        raise ValueError(f"widths differ: {shapes}")
    if not query.size(-2) == key.size(-2) == value.size(-2):
        raise ValueError(f"numbers differ: {shapes}")
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise ValueError(f"batches differ: {shapes}")
    if window < 1:
        raise ValueError(f"window is {window}")


class _Window(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, w):
        n, d = query.shape[-2:]
        kind = torch.promote_types(query.dtype, torch.float32)
        q, k, v = query.to(kind), key.to(kind), value.to(kind)
        score = q.new_full((*q.shape[:-1], w), -math.inf)
        for o in range(w):
            score[..., o:, o] = (q[..., o:, :] * k[..., : n - o, :]).sum(
                -1
            ) / math.sqrt(d)
        weight = score.softmax(-1)
        out = torch.zeros_like(v)
        for o in range(w):
            out[..., o:, :] += weight[..., o:, o, None] * v[..., : n - o, :]
        ctx.save_for_backward(query, key, value, weight)
        return out.to(query.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        query, key, value, weight = ctx.saved_tensors
        w, (n, d) = weight.shape[-1], query.shape[-2:]
        q, k, v, g = (x.to(weight.dtype) for x in (query, key, value, grad))
        d_weight = torch.zeros_like(weight)
        d_q, d_k, d_v = (
            torch.zeros_like(q),
            torch.zeros_like(k),
            torch.zeros_like(v),
        )
        for o in range(w):
            d_weight[..., o:, o] = (g[..., o:, :] * v[..., : n - o, :]).sum(-1)
            d_v[..., : n - o, :] += weight[..., o:, o, None] * g[..., o:, :]
        d_score = (
            weight
            * (d_weight - (weight * d_weight).sum(-1, keepdim=True))
            / math.sqrt(d)
        )
        for o in range(w):
            d_q[..., o:, :] += d_score[..., o:, o, None] * k[..., : n - o, :]
            d_k[..., : n - o, :] += d_score[..., o:, o, None] * q[..., o:, :]
        return d_q.to(query.dtype), d_k.to(key.dtype), d_v.to(value.dtype), None


def window_attention(query, key, value, window):
    _check(query, key, value, window)
    return _Window.apply(query, key, value, min(window, query.shape[-2]))
