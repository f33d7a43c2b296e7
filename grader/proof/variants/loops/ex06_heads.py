"""Style loops: heads are slices of features, one attention after the other."""

import torch
from torch import nn

from ex01_scores import batch_shapes_equal, complain
from ex05_mixing import attention


def head_slices(width, n_heads):
    size = width // n_heads
    return [slice(head * size, (head + 1) * size) for head in range(n_heads)]


def split_heads(x, n_heads):
    if x.dim() < 2:
        complain("a token per row, please", x)
    if n_heads < 1 or x.size(-1) % n_heads > 0:
        complain(f"{x.size(-1)} features do not make n_heads = {n_heads} equal heads", x)
    return torch.stack([x[..., block] for block in head_slices(x.size(-1), n_heads)], dim=-3)


def merge_heads(x):
    if x.dim() < 3:
        complain("a matrix per head, please", x)
    heads = [x[..., head, :, :] for head in range(x.size(-3))]
    return torch.cat(heads, dim=-1)


def multi_head(query, key, value, n_heads, mask=None):
    if query.dim() < 2 or not query.dim() == key.dim() == value.dim():
        complain("query, key and value need equally many dimensions", query, key, value)
    if not batch_shapes_equal(query, key, value):
        complain("query, key and value come in different batches", query, key, value)
    if not query.size(-1) == key.size(-1) == value.size(-1):
        complain("query, key and value have different widths", query, key, value)
    if n_heads < 1 or query.size(-1) % n_heads > 0:
        complain(f"{query.size(-1)} features do not make n_heads = {n_heads} equal heads", query)
    answers = []
    for block in head_slices(query.size(-1), n_heads):
        answers.append(attention(query[..., block], key[..., block], value[..., block], mask))
    return torch.cat(answers, dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if n_heads <= 0 or d_model % n_heads > 0:
            raise ValueError(f"{n_heads} heads cannot share {d_model} features evenly")
        self.width = d_model
        self.n_heads = n_heads
        for name in ("w_o", "w_q", "w_k", "w_v"):
            layer = nn.Linear(d_model, d_model, bias=bias)
            nn.init.orthogonal_(layer.weight)
            if bias:
                nn.init.zeros_(layer.bias)
            self.add_module(name, layer)

    def forward(self, x, memory=None, mask=None):
        source = x if memory is None else memory
        for tokens in (x, source):
            if tokens.dim() < 2 or tokens.size(-1) != self.width:
                complain(f"tokens should be rows of {self.width} features", tokens)
        answer = multi_head(self.w_q(x), self.w_k(source), self.w_v(source), self.n_heads, mask)
        return self.w_o(answer)
