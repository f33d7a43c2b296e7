"""Chapter 6. Heads by strides and subscripts."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex01_scores import project_linear
from ex05_mixing import attention


def _fail(what, **tensors):
    sizes = [f"{n}{tuple(t.shape)} with {t.dim()} subscripts" for n, t in tensors.items()]
    raise ValueError(what + ": " + ", ".join(sizes))


def _check_heads(d_model, n_heads):
    if n_heads < 1 or d_model % n_heads != 0:
        raise ValueError(f"n_heads = {n_heads} must be 1 or more and divide d_model = {d_model}")


def _product(sizes):
    p = 1
    for size in sizes:
        p = p * size
    return p


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    if x.dim() < 2:
        _fail("x must have two subscripts or more", x=x)
    lead, n, d = x.shape[:-2], x.shape[-2], x.shape[-1]
    _check_heads(d, n_heads)
    h, m = d // n_heads, _product(lead)
    # In a table packed row by row, piece (b, head, i, c) is number b*n*d + i*d + head*h + c.
    flat = x.contiguous()
    piece = torch.as_strided(
        flat, (m, n_heads, n, h), (n * d, h, d, 1), flat.storage_offset()
    )
    return piece.reshape(*lead, n_heads, n, h)


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    if x.dim() < 3:
        _fail("x must have three subscripts or more", x=x)
    lead, n_heads, n, h = x.shape[:-3], x.shape[-3], x.shape[-2], x.shape[-1]
    d = n_heads * h
    # Where does entry (i, f) of a merged table come from? Head f div h, token i, feature f mod h.
    i = torch.arange(n, device=x.device)[:, None]
    f = torch.arange(d, device=x.device)[None, :]
    origin = (f // h) * (n * h) + i * h + f % h
    flat = x.reshape(_product(lead), n_heads * n * h)
    return flat.index_select(1, origin.reshape(n * d)).reshape(*lead, n, d)


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        _fail("two subscripts or more are needed", query=query, key=key, value=value)
    d = query.shape[-1]
    if key.shape[-1] != d or value.shape[-1] != d:
        _fail("all three must be equally wide", query=query, key=key, value=value)
    if key.shape[-2] != value.shape[-2]:
        _fail("key and value must be as many", key=key, value=value)
    if query.shape[:-2] != key.shape[:-2] or query.shape[:-2] != value.shape[:-2]:
        _fail("the leading extents must agree", query=query, key=key, value=value)
    _check_heads(d, n_heads)
    per_head = None
    if mask is not None:
        goal = (*query.shape[:-1], key.shape[-2])
        extra = len(goal) - mask.dim()
        fits = extra >= 0
        for axis in range(mask.dim()):
            if fits and mask.shape[axis] != 1 and mask.shape[axis] != goal[axis + extra]:
                fits = False
        if not fits:
            _fail(f"mask does not broadcast to {goal}", mask=mask, query=query, key=key)
        per_head = mask.expand(goal).unsqueeze(-3)
    return merge_heads(
        attention(
            split_heads(query, n_heads),
            split_heads(key, n_heads),
            split_heads(value, n_heads),
            per_head,
        )
    )


class MultiHeadAttention(nn.Module):
    """Four layers; only their numbers are used, the arithmetic is chapter 1's."""

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        _check_heads(d_model, n_heads)
        super().__init__()
        self.d_model = d_model
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        if memory is None:
            memory = x
        if x.dim() < 2 or memory.dim() < 2:
            _fail("x and memory must have two subscripts or more", x=x, memory=memory)
        if x.shape[-1] != self.d_model or memory.shape[-1] != self.d_model:
            _fail(f"x and memory must be {self.d_model} wide", x=x, memory=memory)
        if x.shape[:-2] != memory.shape[:-2]:
            _fail("x and memory must agree in their leading extents", x=x, memory=memory)
        q = project_linear(x, self.w_q.weight, self.w_q.bias)
        k = project_linear(memory, self.w_k.weight, self.w_k.bias)
        v = project_linear(memory, self.w_v.weight, self.w_v.bias)
        joined = multi_head(q, k, v, self.n_heads, mask)
        return project_linear(joined, self.w_o.weight, self.w_o.bias)
