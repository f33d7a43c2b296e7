"""Style loops: one head after the other, each with the keys and values of its group."""

import torch
from torch import nn

from ex01_scores import complain
from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x, times):
    if x.dim() < 3:
        complain("a matrix per head, please", x)
    if times < 1:
        complain(f"each head should come at least once, not {times} times", x)
    heads = []
    for head in range(x.size(-3)):
        for _ in range(times):
            heads.append(x[..., head, :, :])
    return torch.stack(heads, dim=-3)


def grouped_attention(query, key, value, mask=None):
    if min(query.dim(), key.dim(), value.dim()) < 3 or key.shape[:-1] != value.shape[:-1]:
        complain("each head of keys needs its values", query, key, value)
    if query.shape[:-3] != key.shape[:-3]:
        complain("query and key come in different batches", query, key)
    if query.size(-3) % key.size(-3) > 0:
        complain("the heads of keys cannot be shared evenly", query, key)
    group = query.size(-3) // key.size(-3)
    answers = []
    for head in range(query.size(-3)):
        shared = head // group
        answers.append(
            attention(query[..., head, :, :], key[..., shared, :, :], value[..., shared, :, :], mask)
        )
    return torch.stack(answers, dim=-3)


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    total = 0
    for _ in range(n_layers):
        for _ in ("keys", "values"):
            total += batch * n_kv_heads * n * d_head * dtype.itemsize
    return total


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads <= 0 or d_model % n_heads > 0:
            raise ValueError(f"{n_heads} heads cannot share {d_model} features evenly")
        if n_kv_heads <= 0 or n_heads % n_kv_heads > 0:
            raise ValueError(f"{n_heads} heads cannot share {n_kv_heads} heads of keys evenly")
        self.width, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        keys = d_model // n_heads * n_kv_heads
        for name, width in (("w_o", d_model), ("w_q", d_model), ("w_k", keys), ("w_v", keys)):
            self.add_module(name, nn.Linear(d_model, width, bias=bias))

    def forward(self, x, memory=None, mask=None):
        source = x if memory is None else memory
        for tokens in (x, source):
            if tokens.dim() < 2 or tokens.size(-1) != self.width:
                complain(f"tokens should be rows of {self.width} features", tokens)
        query = split_heads(self.w_q(x), self.n_heads)
        key = split_heads(self.w_k(source), self.n_kv_heads)
        value = split_heads(self.w_v(source), self.n_kv_heads)
        return self.w_o(merge_heads(grouped_attention(query, key, value, mask)))
