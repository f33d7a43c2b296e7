"""Chapter 6, as Einstein would have typed it."""

import torch
from torch import einsum, nn


def _no(bad, why, *tensors):
    if bad:
        raise ValueError(f"{why}: " + ", ".join(f"{list(t.shape)} ({t.ndim}-d)" for t in tensors))


def _divides(n_heads, d_model):
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"d_model = {d_model} into n_heads = {n_heads}: no")


def split_heads(x, n_heads):
    """n(hd) -> hnd"""
    _no(x.ndim < 2, "x is less than a matrix", x)
    _divides(n_heads, x.shape[-1])
    return einsum("...nhd->...hnd", x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)))


def merge_heads(x):
    """hnd -> n(hd)"""
    _no(x.ndim < 3, "x has no room for heads", x)
    return einsum("...hnd->...nhd", x).flatten(-2)


def multi_head(query, key, value, n_heads, mask=None):
    """w_hqk = softmax_k(q_qhd k_khd), out_qhd = w_hqk v_khd"""
    _no(min(query.ndim, key.ndim, value.ndim) < 2, "less than a matrix", query, key, value)
    _no(key.shape != value.shape, "key and value are not of one size", key, value)
    _no(query.shape[:-2] + query.shape[-1:] != key.shape[:-2] + key.shape[-1:], "query and key differ in more than number", query, key)
    d_model, q_k = query.shape[-1], query.shape[:-1] + key.shape[-2:-1]
    _divides(n_heads, d_model)
    q, k, v = (t.unflatten(-1, (n_heads, d_model // n_heads)) for t in (query, key, value))
    s = einsum("...qhd,...khd->...hqk", q, k) / (d_model // n_heads) ** 0.5
    if mask is None:
        return einsum("...hqk,...khd->...qhd", s.softmax(-1), v).flatten(-2)
    try:
        fits = torch.broadcast_shapes(mask.shape, q_k) == q_k
    except (RuntimeError, ValueError):
        fits = False
    _no(not fits, f"mask does not spread over {list(q_k)}", mask)
    may = mask.expand(q_k).unsqueeze(-3)
    some = may.any(-1, keepdim=True)
    w = s.where(may | ~some, -torch.inf).softmax(-1).where(some, 0.0)
    return einsum("...hqk,...khd->...qhd", w, v).flatten(-2)


class MultiHeadAttention(nn.Module):
    """(x_i q_io) (m_i k_io) (m_i v_io), and o_io over it."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        _divides(n_heads, d_model)
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model, bias) for _ in range(4))

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        for t in (x, memory):
            _no(t.ndim < 2 or t.shape[-1] != self.w_q.in_features, f"not tokens of width {self.w_q.in_features}", t)
        return self.w_o(multi_head(self.w_q(x), self.w_k(memory), self.w_v(memory), self.n_heads, mask))
