from __future__ import annotations

from math import prod

import torch
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x: Tensor, times: int) -> Tensor:
    if x.ndim < 3:
        raise ValueError(f"x must be at least 3-d, got {x.ndim}-d {list(x.shape)}")
    if times < 1:
        raise ValueError(f"times must be at least 1, got {times}")
    *batch, g, n, d = x.shape
    out = x.new_empty(*batch, g * times, n, d)
    for first in range(times):
        out[..., first::times, :, :] = x
    return out


def grouped_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    parts = {"query": query, "key": key, "value": value}
    sizes = ", ".join(f"{name} {list(part.shape)}" for name, part in parts.items())
    if any(part.ndim < 3 for part in parts.values()):
        raise ValueError(f"all three must be at least 3-d, got {sizes}")
    *batch, h, q, _ = query.shape
    g = key.shape[-3]
    if list(key.shape[:-3]) != batch or list(value.shape[:-3]) != batch:
        raise ValueError(f"all three must have the same batch, got {sizes}")
    if value.shape[-3:-1] != key.shape[-3:-1]:
        raise ValueError(f"there must be one value per key, got {sizes}")
    group, rest = divmod(h, g)
    if rest:
        raise ValueError(f"{g} heads of keys leave a rest of {rest} from {h} heads, got {sizes}")
    out = query.new_empty(*batch, h, q, value.shape[-1])
    for shared in range(g):
        keys, values = key.select(-3, shared), value.select(-3, shared)
        for head in range(shared * group, (shared + 1) * group):
            out[..., head, :, :] = attention(query.select(-3, head), keys, values, mask)
    return out


def cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    keys = prod([n_layers, batch, n_kv_heads, n, d_head]) * dtype.itemsize
    return keys + keys


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        super().__init__()
        for many, few in ((d_model, n_heads), (n_heads, n_kv_heads)):
            if few < 1 or many % few:
                raise ValueError(
                    f"d_model={d_model}, n_heads={n_heads} and n_kv_heads={n_kv_heads}: "
                    f"{few} does not divide {many}"
                )
        self.d_model = d_model
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        width = d_model // n_heads
        self.w_q = nn.Linear(d_model, n_heads * width, bias=bias)
        self.w_k = nn.Linear(d_model, n_kv_heads * width, bias=bias)
        self.w_v = nn.Linear(d_model, n_kv_heads * width, bias=bias)
        self.w_o = nn.Linear(n_heads * width, d_model, bias=bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        memory = x if memory is None else memory
        if x.ndim < 2 or memory.ndim < 2:
            raise ValueError(f"x and memory must be 2-d, got {list(x.shape)}, {list(memory.shape)}")
        if x.shape[-1] != self.d_model or memory.shape[-1] != self.d_model:
            raise ValueError(
                f"x and memory must be {self.d_model} wide, got {list(x.shape)} and "
                f"{list(memory.shape)}"
            )
        query = split_heads(self.w_q(x), self.n_heads)
        key = split_heads(self.w_k(memory), self.n_kv_heads)
        value = split_heads(self.w_v(memory), self.n_kv_heads)
        return self.w_o(merge_heads(grouped_attention(query, key, value, mask)))
