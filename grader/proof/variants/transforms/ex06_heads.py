"""Heads, as a JAX user would: the head axis is never seen, vmap has it."""

from __future__ import annotations

from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ex01_scores import MismatchError, named, require
from ex05_mixing import attention


def _check_heads(d_model: int, n_heads: int) -> None:
    if n_heads < 1 or d_model % n_heads:
        raise MismatchError("heads do not divide features", d_model=d_model, n_heads=n_heads)


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    require(x.ndim >= 2, "x needs two dimensions or more", "x has " + named(x, "n", "d_model"))
    _check_heads(x.shape[-1], n_heads)
    folded = x.unflatten(-1, (n_heads, -1))
    return vmap(torch.clone, in_dims=-2, out_dims=-3)(folded)


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    said = "x has " + named(x, "n_heads", "n", "d_head")
    require(x.ndim >= 3, "x needs three dimensions or more", said)
    return vmap(torch.clone, in_dims=-3, out_dims=-2)(x).flatten(-2)


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    said = [
        f"{name} has {named(t, letter, 'd_model')}"
        for name, t, letter in (("query", query, "q"), ("key", key, "k"), ("value", value, "k"))
    ]
    require(min(query.ndim, key.ndim, value.ndim) >= 2, "two dimensions or more are wanted", *said)
    require(query.shape[-1] == key.shape[-1] == value.shape[-1], "they differ in width", *said)
    require(query.shape[:-2] == key.shape[:-2] == value.shape[:-2], "they differ in batch", *said)
    require(key.shape[-2] == value.shape[-2], "key and value differ in number", *said)
    _check_heads(query.shape[-1], n_heads)
    query, key, value = (t.unflatten(-1, (n_heads, -1)) for t in (query, key, value))
    each_head = vmap(partial(attention, mask=mask), in_dims=-2, out_dims=-2)
    return each_head(query, key, value).flatten(-2)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        _check_heads(d_model, n_heads)
        self.d_model = d_model
        self.n_heads = n_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=bias))

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        memory = x if memory is None else memory
        said = f"x has {named(x, 'q', 'd_model')}", f"memory has {named(memory, 'k', 'd_model')}"
        own = f"the layer has d_model={self.d_model}"
        require(min(x.ndim, memory.ndim) >= 2, "two dimensions or more are wanted", *said)
        wide = x.shape[-1] == memory.shape[-1] == self.d_model
        require(wide, "the tokens have the wrong width", *said, own)
        require(x.shape[:-2] == memory.shape[:-2], "x and memory differ in batch", *said)

        def call(name: str, tokens: Tensor) -> Tensor:
            layer = self.get_submodule(name)
            return functional_call(layer, dict(layer.named_parameters()), (tokens,))

        projected = call("w_q", x), call("w_k", memory), call("w_v", memory)
        return call("w_o", multi_head(*projected, n_heads=self.n_heads, mask=mask))
