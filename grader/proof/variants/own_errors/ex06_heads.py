"""Chapter 6, head after head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ex05_mixing import attention


class HeadMisfit(ValueError):
    """Features that cannot be dealt out to heads."""


def _piece(d_model: int, n_heads: int) -> int:
    try:
        torch.empty(d_model, device="meta").view(n_heads, d_model // n_heads)
    except (RuntimeError, ZeroDivisionError) as error:
        raise HeadMisfit(f"{n_heads} heads cannot share {d_model} features.") from error
    return d_model // n_heads


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the features, pile up the pieces."""
    try:
        *_, _n, d_model = x.shape
    except ValueError as error:
        raise HeadMisfit(f"x {tuple(x.shape)} has {x.ndim} dimensions, not 2.") from error
    return torch.stack(x.split(_piece(d_model, n_heads), dim=-1), dim=-3)


def merge_heads(x: Tensor) -> Tensor:
    """Take the pile apart, lay the pieces side by side."""
    try:
        pieces = x.movedim(-3, 0).unbind()
    except IndexError as error:
        raise HeadMisfit(f"x {tuple(x.shape)} has {x.ndim} dimensions, not 3.") from error
    return torch.cat(pieces, dim=-1)


def multi_head(query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None) -> Tensor:
    """Head after head, each a call of attention on its own columns."""
    widths = set()
    shapes = [tuple(t.shape) for t in (query, key, value)]
    try:
        for *_, _n, width in shapes:
            widths.add(width)
        (d_model,) = widths
    except ValueError as error:
        raise HeadMisfit(f"query, key and value are {shapes}, not matrices of one width.") from error
    width = _piece(d_model, n_heads)
    answers = []
    for start in range(0, d_model, width):
        own = slice(start, start + width)
        answers.append(attention(query[..., own], key[..., own], value[..., own], mask))
    return torch.cat(answers, dim=-1)


class MultiHeadAttention(nn.Module):
    """Head after head, from projection to answer."""

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.width = _piece(d_model, n_heads)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        if memory is None:
            memory = x
        for tokens in (x, memory):
            try:
                *_, _n, d_model = tokens.shape
                torch.empty(d_model, device="meta").view(self.w_q.in_features)
            except (ValueError, RuntimeError) as error:
                raise HeadMisfit(
                    f"Tokens {tuple(tokens.shape)} ({tokens.ndim} dimensions), a layer for {self.w_q.in_features}."
                ) from error
        query, key, value = self.w_q(x), self.w_k(memory), self.w_v(memory)
        out = 0 if self.w_o.bias is None else self.w_o.bias
        for start in range(0, d_model, self.width):
            own = slice(start, start + self.width)
            answer = attention(query[..., own], key[..., own], value[..., own], mask)
            out = out + answer @ self.w_o.weight[:, own].t()
        return out
