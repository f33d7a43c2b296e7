"""Style float64 inside: the module's weights are widened for each call."""

import torch
import torch.nn.functional as F
from torch import nn

from ex01_scores import check
from ex05_mixing import attention


def split_heads(x, n_heads):
    check(x.ndim >= 2, f"x.shape is {tuple(x.shape)}, expected 2 or more dimensions")
    check(
        n_heads >= 1 and x.shape[-1] % n_heads == 0,
        f"x.shape is {tuple(x.shape)}, whose last size is not a multiple of n_heads == {n_heads}",
    )
    d_head = x.shape[-1] // n_heads
    x = x.reshape(x.shape[:-1] + (n_heads, d_head))
    return x.swapaxes(-2, -3)


def merge_heads(x):
    check(x.ndim >= 3, f"x.shape is {tuple(x.shape)}, expected 3 or more dimensions")
    x = x.swapaxes(-2, -3)
    return x.reshape(x.shape[:-2] + (x.shape[-2] * x.shape[-1],))


def multi_head(query, key, value, n_heads, mask=None):
    shapes = (
        f"query.shape is {tuple(query.shape)}, key.shape is {tuple(key.shape)} "
        f"and value.shape is {tuple(value.shape)}"
    )
    check(query.ndim == key.ndim == value.ndim >= 2, f"{shapes}: dimensions do not agree")
    check(key.shape == value.shape, f"{shapes}: key and value do not agree")
    check(query.shape[:-2] == key.shape[:-2], f"{shapes}: batches do not agree")
    check(query.shape[-1] == key.shape[-1], f"{shapes}: d_model does not agree")
    if mask is not None:
        wanted = query.shape[:-1] + key.shape[-2:-1]
        shortage = len(wanted) - mask.ndim
        check(
            shortage >= 0 and all(m in (1, w) for m, w in zip(mask.shape, wanted[shortage:])),
            f"mask.shape is {tuple(mask.shape)}, which does not expand to {tuple(wanted)}",
        )
        if mask.ndim > 2:
            mask = mask.unsqueeze(-3)
    heads = attention(
        split_heads(query.double(), n_heads),
        split_heads(key.double(), n_heads),
        split_heads(value.double(), n_heads),
        mask,
    )
    return merge_heads(heads).to(query.dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        check(n_heads >= 1, f"n_heads == {n_heads} for d_model == {d_model}, expected 1 or more")
        check(
            d_model % n_heads == 0,
            f"d_model == {d_model} is not a multiple of n_heads == {n_heads}",
        )
        self.d_model = d_model
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        for layer in self.children():
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        for tokens in (x, memory):
            check(
                tokens.ndim >= 2 and tokens.shape[-1] == self.d_model,
                f"a shape is {tuple(tokens.shape)}, expected (..., n, {self.d_model})",
            )
        query, key, value = _wide(self.w_q, x), _wide(self.w_k, memory), _wide(self.w_v, memory)
        return _wide(self.w_o, multi_head(query, key, value, self.n_heads, mask)).to(x.dtype)


def _wide(layer, tokens):
    bias = None if layer.bias is None else layer.bias.to(torch.float64)
    return F.linear(tokens.to(torch.float64), layer.weight.to(torch.float64), bias)
