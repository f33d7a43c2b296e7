from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from ex01_scores import project_linear
from ex02_scaling import scaled_scores
from ex04_softmax import softmax
from ex05_mixing import mix_values

from ex03_masking import apply_mask
from ex06_heads import merge_heads, split_heads


class ΔενΤαιριάζει(ValueError):
    pass


def _t(*tensors: Tensor) -> str:
    return " / ".join("~" + "~".join(map(str, t.shape)) + "~" for t in tensors)


def repeat_heads(x: Tensor, times: int) -> Tensor:
    if times < 1:
        raise ΔενΤαιριάζει(f"φορές={times}")
    try:
        return torch.cat([head for head in x.split(1, -3) for _ in range(times)], -3)
    except (RuntimeError, IndexError) as why:
        raise ΔενΤαιριάζει(_t(x)) from why


def grouped_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    if min(query.ndim, key.ndim, value.ndim) < 3:
        raise ΔενΤαιριάζει(_t(query, key, value))
    h, q, g = *query.shape[-3:-1], key.shape[-3]
    if h % g:
        raise ΔενΤαιριάζει(_t(query, key))
    # the heads of a group are more rows of queries; what does not fit is refused by chapters 1 to 5
    rows = query.unflatten(-3, (g, h // g)).flatten(-3, -2)
    scores = scaled_scores(rows.double(), key.double()).unflatten(-2, (h // g, q))
    if mask is not None:
        try:
            mask = mask.broadcast_to(*query.shape[:-3], q, key.shape[-2])
        except RuntimeError as why:
            raise ΔενΤαιριάζει(_t(mask)) from why
        scores = apply_mask(scores, mask[..., None, None, :, :])
    weights = softmax(scores).flatten(-3, -2)
    out = mix_values(weights, value.double()).unflatten(-2, (h // g, q))
    return out.flatten(-4, -3).to(query.dtype)


def cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    bits = (torch.finfo if dtype.is_floating_point else torch.iinfo)(dtype).bits
    return n_layers * n_kv_heads * d_head * n * batch * (bits // 4)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        if n_heads < 1 or d_model % n_heads or n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ΔενΤαιριάζει(f"{d_model}, {n_heads}, {n_kv_heads}")
        super().__init__()
        wide = {"q": d_model, "k": d_model // n_heads * n_kv_heads, "o": d_model}
        wide["v"] = wide["k"]
        for name in reversed(wide):
            self.register_module(f"w_{name}", nn.Linear(d_model, wide[name], bias=bias))
        self._counts = n_heads, n_kv_heads

    @property
    def d_model(self) -> int:
        return self.w_o.in_features

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        seen = memory if memory is not None else x
        h, g = self._counts
        query, key, value = (
            split_heads(project_linear(t, layer.weight, layer.bias), heads)
            for t, layer, heads in ((x, self.w_q, h), (seen, self.w_k, g), (seen, self.w_v, g))
        )
        return self.w_o(merge_heads(grouped_attention(query, key, value, mask)))
