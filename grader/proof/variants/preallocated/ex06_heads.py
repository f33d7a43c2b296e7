from __future__ import annotations

from math import prod

import torch
from torch import Tensor, nn

from ex05_mixing import attention


def _head_width(d_model: int, n_heads: int) -> int:
    if n_heads < 1:
        raise ValueError(f"n_heads must be at least 1, got {n_heads}")
    width, rest = divmod(d_model, n_heads)
    if rest:
        raise ValueError(f"n_heads={n_heads} leaves a rest of {rest} from d_model={d_model}")
    return width


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.ndim < 2:
        raise ValueError(f"x must be at least 2-d, got {x.ndim}-d {list(x.shape)}")
    *batch, n, d_model = x.shape
    width = _head_width(d_model, n_heads)
    out = x.new_empty(*batch, n_heads, n, width)
    out.copy_(x.reshape(*batch, n, n_heads, width).transpose(-3, -2))
    return out


def merge_heads(x: Tensor) -> Tensor:
    if x.ndim < 3:
        raise ValueError(f"x must be at least 3-d, got {x.ndim}-d {list(x.shape)}")
    *batch, n_heads, n, width = x.shape
    out = x.new_empty(*batch, n, n_heads * width)
    for head in range(n_heads):
        out[..., head * width : (head + 1) * width] = x.select(-3, head)
    return out


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    parts = {"query": query, "key": key, "value": value}
    sizes = ", ".join(f"{name} {list(part.shape)}" for name, part in parts.items())
    if any(part.ndim < 2 for part in parts.values()):
        raise ValueError(f"all three must be at least 2-d, got {sizes}")
    *batch, q, d_model = query.shape
    k = key.shape[-2]
    if key.shape[-1] != d_model or value.shape[-1] != d_model:
        raise ValueError(f"all three must be equally wide, got {sizes}")
    if value.shape[-2] != k:
        raise ValueError(f"there must be one value per key, got {sizes}")
    if list(key.shape[:-2]) != batch or list(value.shape[:-2]) != batch:
        raise ValueError(f"all three must have the same batch, got {sizes}")
    width = _head_width(d_model, n_heads)
    if mask is not None:
        try:
            mask = mask.expand(*batch, q, k).reshape(prod(batch), q, k)
        except RuntimeError as error:
            raise ValueError(
                f"cannot expand mask {list(mask.shape)} to {[*batch, q, k]}"
            ) from error
    flat = [part.reshape(prod(batch), -1, d_model) for part in parts.values()]
    out = query.new_empty(prod(batch), q, d_model)
    for start in range(0, d_model, width):
        # each head reads and writes its own columns, nothing is folded
        out[..., start : start + width] = attention(
            *(part.narrow(-1, start, width) for part in flat), mask
        )
    return out.reshape(*batch, q, d_model)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        _head_width(d_model, n_heads)
        super().__init__()
        self.d_model = d_model
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def _fused(self, x: Tensor, *layers: nn.Linear) -> tuple[Tensor, ...]:
        """Run several layers as one."""
        weight = torch.cat([layer.weight for layer in layers])
        rows = x.reshape(-1, self.d_model)
        if layers[0].bias is None:
            out = torch.mm(rows, weight.t())
        else:
            out = torch.addmm(torch.cat([layer.bias for layer in layers]), rows, weight.t())
        return out.reshape(*x.shape[:-1], len(layers) * self.d_model).chunk(len(layers), dim=-1)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        for name, part in (("x", x), ("memory", memory)):
            if part is not None and (part.ndim < 2 or part.shape[-1] != self.d_model):
                raise ValueError(
                    f"{name} must be [..., n, {self.d_model}], got {part.ndim}-d {list(part.shape)}"
                )
        if memory is None:
            query, key, value = self._fused(x, self.w_q, self.w_k, self.w_v)
        else:
            (query,) = self._fused(x, self.w_q)
            key, value = self._fused(memory, self.w_k, self.w_v)
        (out,) = self._fused(multi_head(query, key, value, self.n_heads, mask), self.w_o)
        return out
