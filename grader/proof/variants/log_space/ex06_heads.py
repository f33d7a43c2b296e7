from __future__ import annotations

import torch
from torch import Tensor, nn

from ex01_scores import SizeError
from ex05_mixing import attention


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.dim() < 2:
        raise SizeError("wanted at least 2 dimensions", x=x)
    if n_heads < 1 or x.size(-1) % n_heads != 0:
        raise SizeError(f"wanted features that {n_heads} heads can share", x=x)
    # Windows over the features, none overlapping: [*batch, n, n_heads, d_head]
    d_head = x.size(-1) // n_heads
    return x.unfold(-1, d_head, d_head).transpose(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    if x.dim() < 3:
        raise SizeError("wanted at least 3 dimensions", x=x)
    return x.transpose(-2, -3).flatten(-2, -1)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    three = {"query": query, "key": key, "value": value}
    if any(t.dim() < 2 for t in three.values()):
        raise SizeError("wanted at least 2 dimensions", **three)
    if not query.size(-1) == key.size(-1) == value.size(-1):
        raise SizeError("wanted one width", **three)
    if key.size(-2) != value.size(-2):
        raise SizeError("wanted one value for each key", **three)
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise SizeError("wanted one batch", **three)
    if mask is not None:
        room = torch.Size((*query.shape[:-1], key.size(-2)))
        padded = (1,) * (len(room) - mask.dim()) + tuple(mask.shape)
        if len(padded) > len(room) or any(m not in (1, s) for m, s in zip(padded, room)):
            raise SizeError(f"wanted a mask for {' by '.join(map(str, room))} scores", mask=mask)
        mask = mask.reshape(padded).unsqueeze(-3)
    heads = attention(*(split_heads(t, n_heads) for t in three.values()), mask)
    return merge_heads(heads)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads != 0:
            raise ValueError(f"wanted heads that share {d_model} features; got {n_heads}")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias)
        self.w_k = nn.Linear(d_model, d_model, bias)
        self.w_v = nn.Linear(d_model, d_model, bias)
        self.w_o = nn.Linear(d_model, d_model, bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        memory = x if memory is None else memory
        if x.dim() < 2 or memory.dim() < 2:
            raise SizeError("wanted at least 2 dimensions", x=x, memory=memory)
        if {x.size(-1), memory.size(-1)} != {self.w_q.in_features}:
            raise SizeError(f"wanted tokens {self.w_q.in_features} wide", x=x, memory=memory)
        if x.shape[:-2] != memory.shape[:-2]:
            raise SizeError("wanted one batch", x=x, memory=memory)
        mixed = multi_head(self.w_q(x), self.w_k(memory), self.w_v(memory), self.n_heads, mask)
        return self.w_o(mixed)
