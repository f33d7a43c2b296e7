"""Chapter 6: heads."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex01_scores import Argument, WrongRank, WrongSize, agree, spell
from ex03_masking import require_broadcast
from ex05_mixing import attention


@dataclass(frozen=True)
class Division:
    """How many heads share how many features."""

    d_model: int
    n_heads: int

    def __post_init__(self) -> None:
        match divmod(self.d_model, self.n_heads) if self.n_heads > 0 else None:
            case None:
                raise WrongSize("n_heads", spell(self.n_heads), "there is at least one head")
            case (_, rest) if rest:
                raise WrongSize(
                    "n_heads", spell(self.n_heads), f"it has to divide d_model, {self.d_model}"
                )


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    _, _, width = Argument("x", x).sequence()
    Division(width, n_heads)
    return torch.stack(x.chunk(n_heads, dim=-1), dim=-3)


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    match tuple(x.shape):
        case (*_, _, _, _):
            return torch.cat(x.unbind(dim=-3), dim=-1)
        case shape:
            raise WrongRank("x", spell(shape), "at least three dimensions are needed")


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    named = {"query": query, "key": key, "value": value}
    batches, numbers, widths = zip(*(Argument(*item).sequence() for item in named.items()))
    agree("width", *zip(named, widths))
    agree("batch", *zip(named, batches))
    agree("number", *list(zip(named, numbers))[1:])
    Division(widths[0], n_heads)
    if mask is not None:
        require_broadcast(mask, (*batches[0], *numbers[:2]))
    # Each head is a plain attention over its own features, so the mask needs no dimension for it.
    pieces = zip(*(split_heads(t, n_heads).unbind(dim=-3) for t in named.values()))
    return torch.cat([attention(*piece, mask=mask) for piece in pieces], dim=-1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        self.division = Division(d_model, n_heads)
        for letter in "qkvo":
            self.add_module(f"w_{letter}", nn.Linear(d_model, d_model, bias=bias))

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        match memory:
            case None:
                memory = x
        x_batch, q, x_width = Argument("x", x).sequence()
        memory_batch, k, memory_width = Argument("memory", memory).sequence()
        agree("width", ("the layer", self.division.d_model), ("x", x_width), ("memory", memory_width))
        agree("batch", ("x", x_batch), ("memory", memory_batch))
        if mask is not None:
            require_broadcast(mask, (*x_batch, q, k))
        answer = multi_head(
            self.w_q(x), self.w_k(memory), self.w_v(memory), self.division.n_heads, mask=mask
        )
        return self.w_o(answer)
