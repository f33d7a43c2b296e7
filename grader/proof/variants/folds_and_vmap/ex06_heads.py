"""Chapter 6. Heads: the head is one more thing to map over."""

from __future__ import annotations

from functools import partial, reduce

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.func import functional_call

from ex05_mixing import attention

show = lambda t: "x".join(map(str, t.shape)) or "a scalar of 0 dimensions"  # noqa: E731


def refuse(reason: str, **tensors: Tensor) -> ValueError:
    return ValueError(f"{reason}: " + ", ".join(f"{n} is {show(t)}" for n, t in tensors.items()))


def head_width(d_model: int, n_heads: int) -> int:
    match n_heads:
        case few if few < 1:
            raise ValueError(f"n_heads={n_heads} is below 1")
        case _ if d_model % n_heads != 0:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        case _:
            return d_model // n_heads


def broadcasts(mask: Tensor, goal: tuple[int, ...]) -> bool:
    padded = (1,) * (len(goal) - mask.ndim) + tuple(mask.shape)
    return len(padded) == len(goal) and all(m in (1, g) for m, g in zip(padded, goal))


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    match tuple(x.shape):
        case (*_, _, d_model):
            return x.unflatten(-1, (n_heads, head_width(d_model, n_heads))).transpose(-2, -3)
        case _:
            raise refuse("rows of tokens are wanted", x=x)


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    match tuple(x.shape):
        case (*_, _, _, _):
            return x.transpose(-2, -3).flatten(-2)
        case _:
            raise refuse("heads of rows are wanted", x=x)


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    named = {"query": query, "key": key, "value": value}
    match tuple(query.shape), tuple(key.shape), tuple(value.shape):
        case (*b_q, q, d_q), (*b_k, k, d_k), (*b_v, n, d_v) if (
            d_q == d_k == d_v and k == n and b_q == b_k == b_v
        ):
            head_width(d_q, n_heads)
        case (*_, _, _), (*_, _, _), (*_, _, _):
            raise refuse("query, key and value do not go together", **named)
        case _:
            raise refuse("rows are wanted in query, key and value", **named)
    if mask is not None and not broadcasts(mask, (*b_q, q, k)):
        raise refuse(f"a mask for {[*b_q, q, k]} is wanted", mask=mask, query=query, key=key)
    every_head = torch.vmap(
        lambda q, k, v: attention(q, k, v, mask), in_dims=-3, out_dims=-3
    )
    return merge_heads(every_head(*map(partial(split_heads, n_heads=n_heads), named.values())))


class MultiHeadAttention(nn.Module):
    """A record of four layers; what it does is in pure functions."""

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        head_width(d_model, n_heads)
        super().__init__()
        self.d_model, self.n_heads = d_model, n_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        source = x if memory is None else memory
        match tuple(x.shape), tuple(source.shape):
            case (*ours, _, d), (*theirs, _, d_m) if (
                ours == theirs and d == d_m == self.d_model
            ):
                pure = lambda layer: partial(  # noqa: E731
                    functional_call, layer, dict(layer.named_parameters())
                )
                steps = (
                    lambda qkv: multi_head(*qkv, n_heads=self.n_heads, mask=mask),
                    pure(self.w_o),
                )
                start = (pure(self.w_q)(x), pure(self.w_k)(source), pure(self.w_v)(source))
                return reduce(lambda value, step: step(value), steps, start)
            case _:
                raise refuse(
                    f"rows of width {self.d_model} in one batch are wanted", x=x, memory=source
                )
