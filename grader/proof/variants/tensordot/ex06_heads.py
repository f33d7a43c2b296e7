from __future__ import annotations

import torch
from torch import Tensor, nn

from ex01_scores import check, shapes
from ex03_masking import broadcasts
from ex05_mixing import attention


def _check_heads(n_heads: int, d_model: int) -> None:
    check(n_heads >= 1, f"n_heads = {n_heads} is below 1 (d_model = {d_model})")
    check(d_model % n_heads == 0, f"d_model = {d_model} is no multiple of n_heads = {n_heads}")


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    check(x.ndim >= 2, f"need at least 2-d: {shapes(x=x)}")
    _check_heads(n_heads, x.shape[-1])
    return torch.stack(torch.tensor_split(x, n_heads, dim=-1), dim=-3)


def merge_heads(x: Tensor) -> Tensor:
    check(x.ndim >= 3, f"need at least 3-d: {shapes(x=x)}")
    return torch.concatenate(torch.unbind(x, dim=-3), dim=-1)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    every = shapes(query=query, key=key, value=value)
    check(min(query.ndim, key.ndim, value.ndim) >= 2, f"need at least 2-d: {every}")
    check(query.shape[-1] == key.shape[-1] == value.shape[-1], f"last axes differ: {every}")
    check(key.shape[-2] == value.shape[-2], f"key and value differ in number: {every}")
    check(query.shape[:-2] == key.shape[:-2] == value.shape[:-2], f"leading axes differ: {every}")
    _check_heads(n_heads, query.shape[-1])
    if mask is not None:
        check(
            broadcasts(mask, (*query.shape[:-1], key.shape[-2])),
            f"mask does not broadcast: {shapes(mask=mask, query=query, key=key)}",
        )
        mask = torch.atleast_2d(mask)[..., None, :, :]
    q, k, v = (split_heads(a, n_heads) for a in (query, key, value))
    return merge_heads(attention(q, k, v, mask))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        _check_heads(n_heads, d_model)
        self.n_heads = n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        source = x if memory is None else memory
        for a in (x, source):
            check(
                a.ndim >= 2 and a.shape[-1] == self.w_q.in_features,
                f"need (..., n, {self.w_q.in_features}): {shapes(x=x, memory=source)}",
            )
        out = multi_head(self.w_q(x), self.w_k(source), self.w_v(source), self.n_heads, mask)
        return self.w_o(out)
