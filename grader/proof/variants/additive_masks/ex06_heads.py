"""Style additive masks, chapter 6: one page of zeros and infinities is added for all heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .ex02_scaling import scaled_scores
from .ex03_masking import apply_mask
from .ex04_softmax import softmax
from .ex05_mixing import mix_values


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.ndim < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, without rows and columns")
    *batch, n, d_model = x.shape
    if n_heads < 1 or d_model % n_heads != 0:
        raise ValueError(f"{d_model} features cannot be shared by {n_heads} heads")
    return x.reshape(*batch, n, n_heads, d_model // n_heads).movedim(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    if x.ndim < 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, without heads, rows and columns")
    return x.movedim(-3, -2).flatten(start_dim=-2)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise ValueError(
            f"the batches differ: {tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if not query.shape[-1:] == key.shape[-1:] == value.shape[-1:]:
        raise ValueError(
            f"the widths differ: {query.shape[-1]}, {key.shape[-1]} and {value.shape[-1]}"
        )
    if key.shape[-2:-1] != value.shape[-2:-1]:
        raise ValueError(f"keys {tuple(key.shape)} and values {tuple(value.shape)} differ")
    scores = scaled_scores(split_heads(query, n_heads), split_heads(key, n_heads))
    if mask is not None:
        page = torch.zeros_like(query[..., :1] * key[..., :1].mT)
        scores = scores + apply_mask(page.detach(), mask).unsqueeze(-3)
    return merge_heads(mix_values(softmax(scores), split_heads(value, n_heads)))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads != 0:
            raise ValueError(f"{d_model} features cannot be shared by {n_heads} heads")
        self.heads = n_heads
        self.d_model = d_model
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        for parameter in self.parameters():
            nn.init.trunc_normal_(parameter, std=0.2)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        if memory is None:
            memory = x
        for name, tokens in (("x", x), ("memory", memory)):
            if tokens.ndim < 2 or tokens.shape[-1] != self.d_model:
                raise ValueError(
                    f"{name} has shape {tuple(tokens.shape)}, and the width is {self.d_model}"
                )
        mixed = multi_head(
            query=self.w_q(x),
            key=self.w_k(memory),
            value=self.w_v(memory),
            n_heads=self.heads,
            mask=mask,
        )
        return self.w_o(mixed)
