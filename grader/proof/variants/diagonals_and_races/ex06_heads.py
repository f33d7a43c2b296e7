"""Chapter 6: index tables, one head after the other, and a module that is a dataclass."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex01_scores import project_linear
from ex05_mixing import attention


def _table(d_model: int, n_heads: int, device=None) -> Tensor:
    """Which features each head owns: [n_heads, d_head]."""
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"{d_model} features among {n_heads} heads: somebody goes hungry")
    return torch.arange(d_model, device=device).reshape(n_heads, -1)


def _flat(**tensors: Tensor) -> None:
    for name, t in tensors.items():
        if t.ndim < 2:
            raise ValueError(f"{name} is too flat: {tuple(t.shape)}")


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    _flat(x=x)
    return x[..., _table(x.shape[-1], n_heads, x.device)].movedim(-2, -3)


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    if x.ndim < 3:
        raise ValueError(f"nothing to merge in {tuple(x.shape)}")
    return torch.cat(x.unbind(-3), -1)


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    trio = {"query": query, "key": key, "value": value}
    _flat(**trio)
    if len(widths := {t.shape[-1] for t in trio.values()}) > 1:
        raise ValueError(f"widths {sorted(widths)} under one hat")
    heads = zip(*(split_heads(t, n_heads).unbind(-3) for t in trio.values()))
    return merge_heads(torch.stack([attention(*qkv, mask) for qkv in heads], -3))


@dataclass(eq=False, repr=False)
class MultiHeadAttention(nn.Module):
    d_model: int
    n_heads: int
    bias: bool = True

    def __post_init__(self) -> None:
        _table(self.d_model, self.n_heads, "cpu")
        super().__init__()
        for letter in "qkvo":
            setattr(self, f"w_{letter}", nn.Linear(self.d_model, self.d_model, self.bias))

    def _by(self, letter: str, t: Tensor) -> Tensor:
        layer = self.get_submodule("w_" + letter)
        return project_linear(t, layer.weight, layer.bias)

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        m = x if memory is None else memory
        _flat(x=x, memory=m)
        if {self.d_model} != {x.shape[-1], m.shape[-1]} or x.shape[:-2] != m.shape[:-2]:
            raise ValueError(f"[{self.d_model=}] {tuple(x.shape)} / {tuple(m.shape)}")
        return self._by(
            "o",
            multi_head(*map(self._by, "qkv", (x, m, m)), n_heads=self.n_heads, mask=mask),
        )
