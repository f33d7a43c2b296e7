"""Chapter 6: heads are folded by permutation; the layers come from a loop and have weights of our own."""

from __future__ import annotations

import torch
from torch import nn

from ex01_scores import ShapeMismatch, fits
from ex05_mixing import attention


def _head_width(d_model, n_heads):
    for good, why in {
        n_heads >= 1: f"n_heads is {n_heads}, there has to be 1",
        n_heads >= 1 and d_model % n_heads == 0: f"n_heads is {n_heads} and d_model {d_model}: something is left over",
    }.items():
        if not good:
            raise ShapeMismatch(why)
    return d_model // n_heads


@fits(x="*b n d_model")
def split_heads(x, n_heads):
    """Folded by unfold: windows that do not overlap."""
    width = _head_width(x.shape[-1], n_heads)
    return x.unfold(-1, width, width).transpose(-3, -2)


@fits(x="*b n_heads n d_head")
def merge_heads(x):
    """[h, n, d] -> [n, h, d] -> [n, hd]"""
    lead = list(range(x.ndim - 3))
    return x.permute(*lead, -2, -3, -1).flatten(start_dim=-2)


@fits(
    query="*b q d_model", key="*b k d_model", value="*b k d_model", mask="<= *b q k"
)
def multi_head(query, key, value, n_heads, mask=None):
    """Heads first, so that a mask without a batch serves them as it is: swap them to the very front."""
    q, k, v = (split_heads(part, n_heads).movedim(-3, 0) for part in (query, key, value))
    return merge_heads(attention(q, k, v, mask).movedim(0, -3))


class MultiHeadAttention(nn.Module):
    """w_q, w_k, w_v and w_o, in the order of the alphabet."""

    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        _head_width(d_model, n_heads)
        self.d_model, self.n_heads = d_model, n_heads
        for name in "koqv":
            layer = nn.Linear(d_model, d_model, bias=bias)
            layer.weight = nn.Parameter(nn.init.xavier_normal_(torch.empty_like(layer.weight)))
            self.add_module(f"w_{name}", layer)

    def forward(self, x, memory=None, mask=None):
        return self._look(x, x if memory is None else memory, mask)

    @fits(x="*b q d", memory="*b k d", mask="<= *b q k")
    def _look(self, x, memory, mask):
        if x.shape[-1] != self.d_model:
            raise ShapeMismatch(f"x and memory are {x.shape[-1]} wide, the layers {self.d_model}")
        parts = (self._modules[f"w_{name}"](tokens) for name, tokens in {"q": x, "k": memory, "v": memory}.items())
        return self.w_o(multi_head(*parts, n_heads=self.n_heads, mask=mask))
