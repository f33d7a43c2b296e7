"""Style library: torch.vmap over the heads, torch.softmax inside, one chunked projection."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex01_scores import misfit
from ex05_mixing import attention


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        misfit(f"a split into {n_heads} heads", x)
    folded = x.unflatten(-1, (n_heads, x.shape[-1] // n_heads))
    return torch.swapaxes(folded, -2, -3)


def merge_heads(x: Tensor) -> Tensor:
    if x.ndim < 3:
        misfit("joining heads", x)
    return torch.swapaxes(x, -2, -3).flatten(-2, -1)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    alike = {(tensor.ndim, tensor.shape[:-2], tensor.shape[-1:]) for tensor in (query, key, value)}
    if len(alike) > 1 or key.shape != value.shape:
        misfit("attention per head", query, key, value)
    heads = [split_heads(tensor, n_heads) for tensor in (query, key, value)]
    # the heads are mapped over, so that a mask never meets their dimension
    per_head = torch.vmap(lambda q, k, v: attention(q, k, v, mask), in_dims=-3, out_dims=-3)
    return merge_heads(per_head(*heads))


class MultiHeadAttention(nn.Module):
    """Multi-head attention after the paper."""

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads not in [n for n in range(1, d_model + 1) if d_model % n == 0]:
            raise ValueError(f"n_heads must be a divisor of d_model = {d_model}, not {n_heads}")
        self.n_heads = n_heads
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        # as nn.MultiheadAttention starts
        for layer in (self.w_q, self.w_k, self.w_v):
            nn.init.xavier_uniform_(layer.weight, gain=2**-0.5)
        for layer in self.children():
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        memory = x if memory is None else memory
        if x.ndim < 2 or memory.ndim < 2:
            misfit("attention", x, memory)
        if not x.shape[-1] == memory.shape[-1] == self.w_q.in_features:
            misfit(f"attention at d_model = {self.w_q.in_features}", x, memory)
        joined = multi_head(self.w_q(x), self.w_k(memory), self.w_v(memory), self.n_heads, mask)
        return self.w_o(joined)
