"""Heads. The fold is an object, a projection is a kind of nn.Linear."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex01_scores import BATCH, Dimensions, Rows, Same, Sized, contract, project_linear
from ex03_masking import require_broadcast
from ex05_mixing import attention


@dataclass(frozen=True, order=True)
class Fold:
    """d_model features in n_heads pieces."""

    d_model: int
    n_heads: int

    def __post_init__(self) -> None:
        match self.n_heads:
            case few if few < 1:
                raise ValueError(f"n_heads is {few}: there has to be 1 head or more")
            case many if divmod(self.d_model, many)[1] != 0:
                raise ValueError(f"{self.d_model} features are not divisible into {many} heads")

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    def split(self, x: Tensor) -> Tensor:
        return torch.stack(x.split(self.d_head, dim=-1), dim=-3)

    def merge(self, x: Tensor) -> Tensor:
        return x.movedim(-3, -2).reshape(*x.shape[:-3], x.size(-2), self.d_model)


@contract(Rows("x"))
def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    return Fold(x.size(-1), n_heads).split(x)


@contract(Dimensions("x", 3))
def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    return Fold(x.size(-3) * x.size(-1), x.size(-3)).merge(x)


@contract(
    Rows("query"),
    Rows("key"),
    Rows("value"),
    Same("width", query=-1, key=-1, value=-1),
    Same("number", key=-2, value=-2),
    Same("batch", query=BATCH, key=BATCH, value=BATCH),
)
def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    fold = Fold(query.size(-1), n_heads)
    if mask is not None:
        table = (*query.shape[:-1], key.size(-2))
        require_broadcast(mask, table, "the table of scores")
        mask = mask.expand(table).unsqueeze(-3)
    return fold.merge(attention(fold.split(query), fold.split(key), fold.split(value), mask))


class Projection(nn.Linear):
    """nn.Linear, with the product written in chapter 1."""

    def forward(self, input: Tensor) -> Tensor:
        return project_linear(input, self.weight, self.bias)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.fold = Fold(d_model, n_heads)
        self.w_q = Projection(d_model, d_model, bias=bias)
        self.w_k = Projection(d_model, d_model, bias=bias)
        self.w_v = Projection(d_model, d_model, bias=bias)
        self.w_o = Projection(d_model, d_model, bias=bias)

    @contract(
        Rows("x"),
        Rows("memory"),
        Same("width", x=-1, memory=-1),
        Same("batch", x=BATCH, memory=BATCH),
    )
    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        if x.size(-1) != self.fold.d_model:
            raise ValueError(f"{Sized.of('x', x)}, but the layer is {self.fold.d_model} wide")
        match memory:
            case None:
                asked = x
            case _:
                asked = memory
        heads = multi_head(
            self.w_q(x), self.w_k(asked), self.w_v(asked), self.fold.n_heads, mask=mask
        )
        return self.w_o(heads)
