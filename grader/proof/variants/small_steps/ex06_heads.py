from __future__ import annotations

import torch
from torch import Tensor, nn

from ex05_mixing import attention


def check_heads(d_model: int, n_heads: int) -> None:
    if n_heads < 1:
        raise ValueError(f"n_heads should be 1 or more but is {n_heads}")
    if d_model % n_heads != 0:
        raise ValueError(f"d_model={d_model} cannot be divided by n_heads={n_heads}")


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.dim() < 2:
        raise ValueError(
            f"x should have 2 or more dimensions but has {x.dim()}, shape is {x.shape}"
        )
    d_model = x.size(-1)
    check_heads(d_model, n_heads)
    d_head = d_model // n_heads
    pieces = []
    for h in range(n_heads):
        start = h * d_head
        stop = start + d_head
        piece = x[..., start:stop]
        pieces.append(piece)
    return torch.stack(pieces, dim=-3)


def merge_heads(x: Tensor) -> Tensor:
    if x.dim() < 3:
        raise ValueError(
            f"x should have 3 or more dimensions but has {x.dim()}, shape is {x.shape}"
        )
    n_heads = x.size(-3)
    pieces = []
    for h in range(n_heads):
        pieces.append(x[..., h, :, :])
    return torch.cat(pieces, dim=-1)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    shapes = f"query: {query.shape}, key: {key.shape}, value: {value.shape}"
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError(f"query, key and value should have 2 or more dimensions, {shapes}")
    if query.size(-1) != key.size(-1) or key.size(-1) != value.size(-1):
        raise ValueError(f"query, key and value should have the same width, {shapes}")
    if key.size(-2) != value.size(-2):
        raise ValueError(f"key and value should have the same number of rows, {shapes}")
    if query.shape[:-2] != key.shape[:-2] or key.shape[:-2] != value.shape[:-2]:
        raise ValueError(f"query, key and value should have the same batch, {shapes}")
    check_heads(query.size(-1), n_heads)

    # every head is a smaller attention with the same mask
    query_heads = torch.chunk(query, n_heads, dim=-1)
    key_heads = torch.chunk(key, n_heads, dim=-1)
    value_heads = torch.chunk(value, n_heads, dim=-1)
    answers = []
    for h in range(n_heads):
        answer = attention(query_heads[h], key_heads[h], value_heads[h], mask)
        answers.append(answer)
    return torch.cat(answers, dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        self.d_model = d_model
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        if memory is None:
            memory = x
        if x.dim() < 2:
            raise ValueError(
                f"x should have 2 or more dimensions but has {x.dim()}, shape is {x.shape}"
            )
        if memory.dim() < 2:
            raise ValueError(
                f"memory should have 2 or more dimensions but has {memory.dim()}, shape is {memory.shape}"
            )
        if x.size(-1) != self.d_model:
            raise ValueError(f"x is {x.size(-1)} wide, d_model is {self.d_model}")
        if memory.size(-1) != self.d_model:
            raise ValueError(f"memory is {memory.size(-1)} wide, d_model is {self.d_model}")
        query = self.w_q(x)
        key = self.w_k(memory)
        value = self.w_v(memory)
        answers = multi_head(query, key, value, self.n_heads, mask)
        output = self.w_o(answers)
        return output
