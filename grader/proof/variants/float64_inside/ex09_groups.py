"""Style float64 inside: groups below each other, on numbers that are widened first."""

import torch
import torch.nn.functional as F
from torch import nn

from ex01_scores import check
from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x, times):
    check(x.ndim >= 3, f"x.shape is {tuple(x.shape)}, expected 3 or more dimensions")
    check(times >= 1, f"times == {times}, expected 1 or more")
    return x.unsqueeze(-3).expand(x.shape[:-2] + (times,) + x.shape[-2:]).flatten(-4, -3)


def grouped_attention(query, key, value, mask=None):
    shapes = (
        f"query.shape is {tuple(query.shape)}, key.shape is {tuple(key.shape)} "
        f"and value.shape is {tuple(value.shape)}"
    )
    check(query.ndim == key.ndim == value.ndim >= 3, f"{shapes}: dimensions do not agree")
    check(key.shape[:-1] == value.shape[:-1], f"{shapes}: key and value do not agree")
    check(query.shape[:-3] == key.shape[:-3], f"{shapes}: batches do not agree")
    check(query.shape[-3] % key.shape[-3] == 0, f"{shapes}: the heads cannot be grouped")
    group, q = query.shape[-3] // key.shape[-3], query.shape[-2]
    if mask is not None:
        wanted = query.shape[:-3] + (q, key.shape[-2])
        shortage = len(wanted) - mask.ndim
        check(
            shortage >= 0 and all(m in (1, w) for m, w in zip(mask.shape, wanted[shortage:])),
            f"mask.shape is {tuple(mask.shape)}, which does not expand to {tuple(wanted)}",
        )
        mask = mask.expand(wanted).unsqueeze(-3)
        mask = mask.repeat((1,) * (mask.ndim - 2) + (group, 1))
    rows = query.double().reshape(key.shape[:-2] + (group * q, query.shape[-1]))
    mixed = attention(rows, key.double(), value.double(), mask)
    return mixed.reshape(query.shape[:-1] + value.shape[-1:]).to(query.dtype)


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    of_a_word = n_layers * n_kv_heads * (d_head + d_head)
    return of_a_word * n * batch * torch.empty((), dtype=dtype).element_size()


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        check(
            n_heads >= 1 and d_model % n_heads == 0,
            f"d_model == {d_model} is not a multiple of n_heads == {n_heads}",
        )
        check(
            n_kv_heads >= 1 and n_heads % n_kv_heads == 0,
            f"n_heads == {n_heads} is not a multiple of n_kv_heads == {n_kv_heads}",
        )
        self.d_model = d_model
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model * n_kv_heads // n_heads, bias=bias)
        self.w_v = nn.Linear(d_model, d_model * n_kv_heads // n_heads, bias=bias)

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        for tokens in (x, memory):
            check(
                tokens.ndim >= 2 and tokens.shape[-1] == self.d_model,
                f"a shape is {tuple(tokens.shape)}, expected (..., n, {self.d_model})",
            )
        query = split_heads(_wide(self.w_q, x), self.n_heads)
        key = split_heads(_wide(self.w_k, memory), self.n_kv_heads)
        value = split_heads(_wide(self.w_v, memory), self.n_kv_heads)
        return _wide(self.w_o, merge_heads(grouped_attention(query, key, value, mask))).to(x.dtype)


def _wide(layer, tokens):
    bias = None if layer.bias is None else layer.bias.to(torch.float64)
    return F.linear(tokens.to(torch.float64), layer.weight.to(torch.float64), bias)
