from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from ex01_scores import project_linear

from ex05_mixing import attention


def _no(**what: object) -> ValueError:
    return ValueError({name: getattr(x, "shape", x) for name, x in what.items()})


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        raise _no(x=x, n_heads=n_heads)
    size = x.shape[-1] // n_heads
    return x.unfold(-1, size, size).movedim(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    if x.ndim < 3:
        raise _no(x=x)
    h, n, d = x.shape[-3:]
    out = x.new_empty(*x.shape[:-3], n, h * d)
    for head in range(h):
        out[..., head * d : (head + 1) * d] = x.select(-3, head)
    return out


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    width = query.shape[-1] if query.ndim else 0
    if n_heads < 1 or width % n_heads:
        raise _no(query=query, n_heads=n_heads)
    if value.shape[-1:] != query.shape[-1:]:
        raise _no(query=query, value=value)
    out = torch.zeros_like(query, dtype=torch.float64)
    owner = torch.arange(width, device=query.device) * n_heads // width
    for head in range(n_heads):  # all features each time, those of other heads being 0
        mine = (owner == head).double()
        q = query.double() * mine * math.sqrt(n_heads)
        out = out + attention(q, key.double(), value.double() * mine, mask)
    return out.to(query.dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise _no(d_model=d_model, n_heads=n_heads)
        for name in "ovkq":
            setattr(self, f"w_{name}", nn.Linear(d_model, d_model, bias=bias))
        self.n_heads = n_heads

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        seen = x if memory is None else memory
        parts = [project_linear(x, self.w_q.weight, self.w_q.bias)]
        parts += [project_linear(seen, layer.weight, layer.bias) for layer in (self.w_k, self.w_v)]
        joined = multi_head(*parts, self.n_heads, mask)
        return project_linear(joined, self.w_o.weight, self.w_o.bias)
