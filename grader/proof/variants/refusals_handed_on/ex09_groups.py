import torch
from torch import nn

from ex01_scores import project_linear
from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(x, times):
    if x.dim() < 3 or times < 1:
        raise ValueError(f"x {tuple(x.shape)}, times {times}")
    return torch.stack([x] * times, -3).flatten(-4, -3)


def grouped_attention(query, key, value, mask=None):
    bad = ValueError(
        f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
    )
    if (
        min(query.dim(), key.dim(), value.dim()) < 3
        or key.shape[-3] != value.shape[-3]
        or query.shape[-3] % key.shape[-3]
    ):
        raise bad
    r = query.shape[-3] // key.shape[-3]
    return torch.stack(
        [
            attention(q, key.select(-3, j // r), value.select(-3, j // r), mask)
            for j, q in enumerate(query.unbind(-3))
        ],
        -3,
    )


def cache_bytes(n_layers, n_kv_heads, d_head, n, batch=1, dtype=torch.float16):
    info = torch.finfo if dtype.is_floating_point else torch.iinfo
    return n_layers * n_kv_heads * d_head * n * batch * info(dtype).bits // 4


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, bias=False):
        super().__init__()
        if n_heads < 1 or d_model % n_heads or n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"{d_model=} {n_heads=} {n_kv_heads=}")
        small = d_model // n_heads * n_kv_heads
        self.hg = n_heads, n_kv_heads
        self.w_q, self.w_k = nn.Linear(d_model, d_model, bias), nn.Linear(d_model, small, bias)
        self.w_v, self.w_o = nn.Linear(d_model, small, bias), nn.Linear(d_model, d_model, bias)

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        h, g = self.hg
        out = grouped_attention(
            split_heads(project_linear(x, self.w_q.weight, self.w_q.bias), h),
            split_heads(project_linear(memory, self.w_k.weight, self.w_k.bias), g),
            split_heads(project_linear(memory, self.w_v.weight, self.w_v.bias), g),
            mask,
        )
        return self.w_o(merge_heads(out))
