"""Style einsum: a group is one more letter, and each product names what it shares."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex02_scaling import scale_scores
from ex03_masking import apply_mask
from ex04_softmax import softmax
from ex06_heads import merge_heads, split_heads


def repeat_heads(x: Tensor, times: int) -> Tensor:
    if x.dim() < 3 or times < 1:
        raise ValueError(f"{list(x.shape)} cannot be repeated times={times}")
    return torch.einsum("...gnd,t->...gtnd", x, x.new_ones(times)).flatten(-4, -3)


def grouped_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    shapes = [list(part.shape) for part in (query, key, value)]
    if query.dim() < 3 or query.dim() != key.dim() or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(f"'...hqe', '...gke' and '...gkv' do not fit {shapes}")
    if query.shape[:-3] != key.shape[:-3] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"'...' and 'e' are the same in query and key; here: {shapes}")
    if query.shape[-3] % key.shape[-3]:
        raise ValueError(f"{key.shape[-3]} heads of keys do not divide {query.shape[-3]} heads")
    groups = query.unflatten(-3, (key.shape[-3], -1))
    scores = scale_scores(torch.einsum("...gtqe,...gke->...gtqk", groups, key), query.shape[-1])
    if mask is not None:
        one_head = scores.detach()[..., 0, 0, :, :]
        # minus infinity and zeros, for one head; then the same for every head
        doors = apply_mask(torch.zeros_like(one_head), mask).isneginf()
        scores = torch.where(doors[..., None, None, :, :], float("-inf"), scores)
    return torch.einsum("...gtqk,...gkv->...gtqv", softmax(scores), value).flatten(-4, -3)


def cache_bytes(
    n_layers: int, n_kv_heads: int, d_head: int, n: int, batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    sizes = torch.tensor([2, n_layers, n_kv_heads, d_head, n, batch, dtype.itemsize])
    return int(sizes.prod())


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"d_model={d_model} does not fall into n_heads={n_heads} equal heads")
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(f"n_heads={n_heads} do not share n_kv_heads={n_kv_heads} evenly")
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        narrow = n_kv_heads * (d_model // n_heads)
        self.w_o = nn.Linear(d_model, d_model, bias)
        self.w_v = nn.Linear(d_model, narrow, bias)
        self.w_k = nn.Linear(d_model, narrow, bias)
        self.w_q = nn.Linear(d_model, d_model, bias)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        memory = x if memory is None else memory
        query = split_heads(self._through(self.w_q, x), self.n_heads)
        key = split_heads(self._through(self.w_k, memory), self.n_kv_heads)
        value = split_heads(self._through(self.w_v, memory), self.n_kv_heads)
        return self._through(self.w_o, merge_heads(grouped_attention(query, key, value, mask)))

    @staticmethod
    def _through(layer: nn.Linear, x: Tensor) -> Tensor:
        if x.dim() < 2 or x.shape[-1] != layer.in_features:
            raise ValueError(f"tokens of {list(x.shape)} meet a d_model of {layer.in_features}")
        out = torch.einsum("...ni,oi->...no", x, layer.weight)
        return out if layer.bias is None else out + layer.bias
