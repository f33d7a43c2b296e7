"""Groups of heads, cut in halves until one is left: by a stranger who had the stubs only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x, times):
    if x.dim() < 3:
        raise ValueError(f"x is {tuple(x.shape)}, needs 3 dimensions")
    if times < 1:
        raise ValueError(f"times is {times}")
    g = x.shape[-3]
    if g == 1:
        return torch.cat([x] * times, dim=-3)
    left, right = x.tensor_split(2, dim=-3)
    return torch.cat(
        [repeat_heads(left, times), repeat_heads(right, times)], dim=-3
    )


def _walk(query, key, value, mask):
    """Halve the groups until one head of keys is left; then its queries are rows of one matrix."""
    g = key.shape[-3]
    if g > 1:
        h, low = query.shape[-3], g // 2
        cut = h // g * low
        first = _walk(
            query[..., :cut, :, :],
            key[..., :low, :, :],
            value[..., :low, :, :],
            mask,
        )
        second = _walk(
            query[..., cut:, :, :],
            key[..., low:, :, :],
            value[..., low:, :, :],
            mask,
        )
        return torch.cat([first, second], dim=-3)
    r, q = query.shape[-3:-1]
    if mask is not None:
        mask = torch.cat([mask] * r, dim=-2)
    rows = attention(
        query.flatten(-3, -2), key.squeeze(-3), value.squeeze(-3), mask
    )
    return rows.unflatten(-2, (r, q))


def grouped_attention(query, key, value, mask=None):
    q_shape, k_shape, v_shape = (tuple(t.shape) for t in (query, key, value))
    problem = None
    if min(len(q_shape), len(k_shape), len(v_shape)) < 3:
        problem = "dimensions"
    elif q_shape[-1] != k_shape[-1]:
        problem = "width"
    elif k_shape[-2] != v_shape[-2]:
        problem = "number"
    elif k_shape[-3] != v_shape[-3] or q_shape[-3] % k_shape[-3]:
        problem = "heads"
    elif not q_shape[:-3] == k_shape[:-3] == v_shape[:-3]:
        problem = "batch"
    if problem:
        raise ValueError(
            f"{problem}: query {q_shape}, key {k_shape}, value {v_shape}"
        )
    if mask is not None:
        full = (*q_shape[:-3], q_shape[-2], k_shape[-2])
        try:
            mask = mask.expand(full)
        except RuntimeError:
            raise ValueError(f"mask {tuple(mask.shape)} should broadcast to {full}")
    return _walk(query, key, value, mask)


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    if n_layers == 0:
        return 0
    layer = (
        2
        * batch
        * n_kv_heads
        * n
        * d_head
        * torch.ones((), dtype=torch.uint8).to(dtype).element_size()
    )
    return layer + cache_bytes(n_layers - 1, n_kv_heads, d_head, n, batch, dtype)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"n_heads {n_heads}, d_model {d_model}")
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads {n_kv_heads}, n_heads {n_heads}")
        self.d_model = d_model
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        kv_width = n_kv_heads * (d_model // n_heads)
        self.w_v = nn.Linear(d_model, kv_width, bias=bias)
        self.w_k = nn.Linear(d_model, kv_width, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.w_q = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, memory=None, mask=None):
        if memory is None:
            return self.forward(x, x, mask)
        for name, t in dict(x=x, memory=memory).items():
            if t.dim() < 2 or t.shape[-1] != self.d_model:
                raise ValueError(
                    f"{name} is {tuple(t.shape)}, d_model {self.d_model}"
                )
        if x.shape[:-2] != memory.shape[:-2]:
            raise ValueError(f"x {tuple(x.shape)}, memory {tuple(memory.shape)}")
        # one product makes keys and values
        both = nn.functional.linear(
            memory,
            torch.cat([self.w_k.weight, self.w_v.weight]),
            None
            if self.w_k.bias is None
            else torch.cat([self.w_k.bias, self.w_v.bias]),
        )
        key, value = split_heads(both, 2 * self.n_kv_heads).chunk(2, dim=-3)
        return self.w_o(
            merge_heads(
                grouped_attention(
                    split_heads(self.w_q(x), self.n_heads), key, value, mask
                )
            )
        )
