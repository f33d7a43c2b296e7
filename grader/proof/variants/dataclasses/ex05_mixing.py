"""Chapter 5: mixing."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex01_scores import Argument, agree, for_each_sequence, project_rows, spell
from ex03_masking import MaskMisfit, causal_mask
from ex04_softmax import attention_weights


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    count = Argument("weights", weights).vector()
    rows, _ = Argument("tokens", tokens).matrix()
    agree("number", ("tokens", rows), ("weights", count))

    def shares() -> Iterator[Tensor]:
        for weight, token in zip(weights, tokens):
            yield weight * token

    nothing = weights.sum() * tokens.sum(dim=0) if count == 0 else None
    return functools.reduce(operator.add, shares()) if nothing is None else nothing


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    weights_batch, _, weights_keys = Argument("weights", weights).sequence()
    value_batch, value_keys, _ = Argument("value", value).sequence()
    agree("number of keys", ("weights", weights_keys), ("value", value_keys))
    agree("batch", ("weights", weights_batch), ("value", value_batch))

    def one(w: Tensor, v: Tensor) -> Tensor:
        return torch.stack([row @ v for row in w])

    return for_each_sequence(one, weights, value)


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    key_batch, keys, _ = Argument("key", key).sequence()
    value_batch, values, _ = Argument("value", value).sequence()
    agree("number", ("key", keys), ("value", values))
    agree("batch", ("key", key_batch), ("value", value_batch))
    return mix_values(attention_weights(query, key, mask), value)


@dataclass(frozen=True, eq=False)
class Projections:
    """The three matrices of an attention, checked against who they are for."""

    w_q: Tensor
    w_k: Tensor
    w_v: Tensor

    def check(self, asker: Tensor, teller: Tensor) -> Projections:
        for name, tokens in (("w_q", asker), ("w_k", teller), ("w_v", teller)):
            rows, _ = Argument(name, getattr(self, name)).matrix()
            agree("inner size", ("the tokens", tokens.shape[-1]), (name, rows))
        agree("width", ("w_q", self.w_q.shape[1]), ("w_k", self.w_k.shape[1]))
        return self

    def __call__(self, asker: Tensor, teller: Tensor) -> Iterator[Tensor]:
        yield project_rows(asker, self.w_q)
        yield project_rows(teller, self.w_k)
        yield project_rows(teller, self.w_v)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    _, n, _ = Argument("x", x).sequence()
    project = Projections(w_q, w_k, w_v).check(x, x)
    look = functools.partial(attention, mask=causal_mask(n, x.device) if causal else None)
    return look(*project(x, x))


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    x_batch, _, _ = Argument("x", x).sequence()
    memory_batch, k, _ = Argument("memory", memory).sequence()
    project = Projections(w_q, w_k, w_v).check(x, memory)
    agree("batch", ("x", x_batch), ("memory", memory_batch))
    match memory_mask:
        case None:
            mask = None
        case Tensor(shape=shape) if shape == (*memory_batch, k):
            mask = memory_mask.unsqueeze(-2)
        case _:
            raise MaskMisfit(
                "memory_mask", spell(memory_mask), f"{spell((*memory_batch, k))} is needed"
            )
    return attention(*project(x, memory), mask=mask)
