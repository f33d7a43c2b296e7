from __future__ import annotations

from torch import Tensor, nn

from ex01_scores import (
    refuse,
    require_floats,
    require_mask,
    require_ndim,
    require_same_batch,
    require_tensors,
    whole,
)
from ex05_mixing import attention


def head_width(d_model: int, n_heads: int) -> int:
    d_model, n_heads = whole(d_model, "d_model", 0), whole(n_heads, "n_heads", 1)
    if d_model % n_heads:
        raise ValueError(
            f"`n_heads` must divide `d_model`, but {n_heads} does not divide {d_model}"
        )
    return d_model // n_heads


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    require_tensors(x)
    require_ndim(2, x=x)
    d_head = head_width(x.shape[-1], n_heads)
    return x.unflatten(-1, (n_heads, d_head)).transpose(-3, -2).contiguous()


def merge_heads(x: Tensor) -> Tensor:
    require_tensors(x)
    require_ndim(3, x=x)
    return x.transpose(-3, -2).contiguous().flatten(start_dim=-2)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    parts = {"query": query, "key": key, "value": value}
    require_floats(*parts.values())
    require_ndim(2, **parts)
    if not query.shape[-1] == key.shape[-1] == value.shape[-1]:
        refuse("`query`, `key` and `value` differ in width", **parts)
    if key.shape[-2] != value.shape[-2]:
        refuse("`key` and `value` differ in number", **parts)
    require_same_batch(**parts)
    head_width(query.shape[-1], n_heads)
    room = (*query.shape[:-1], key.shape[-2])
    require_mask(mask, room)
    if mask is not None:
        mask = mask.broadcast_to(room).unsqueeze(-3)
    return merge_heads(attention(*(split_heads(part, n_heads) for part in parts.values()), mask))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        head_width(d_model, n_heads)
        super().__init__()
        self.d_model = whole(d_model, "d_model", 1)
        self.n_heads = whole(n_heads, "n_heads", 1)
        self.w_q = nn.Linear(self.d_model, self.d_model, bias=bool(bias))
        self.w_k = nn.Linear(self.d_model, self.d_model, bias=bool(bias))
        self.w_v = nn.Linear(self.d_model, self.d_model, bias=bool(bias))
        self.w_o = nn.Linear(self.d_model, self.d_model, bias=bool(bias))

    def extra_repr(self) -> str:
        return f"d_model={self.d_model}, n_heads={self.n_heads}"

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        source = x if memory is None else memory
        require_floats(x, source, self.w_q.weight)
        require_ndim(2, x=x, memory=source)
        if not x.shape[-1] == source.shape[-1] == self.d_model:
            refuse(f"tokens must be d_model={self.d_model} wide", x=x, memory=memory, mask=mask)
        require_same_batch(x=x, memory=source)
        require_mask(mask, (*x.shape[:-1], source.shape[-2]))
        joined = multi_head(self.w_q(x), self.w_k(source), self.w_v(source), self.n_heads, mask)
        return self.w_o(joined)
