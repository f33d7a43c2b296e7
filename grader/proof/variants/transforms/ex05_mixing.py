"""Mixing, as a JAX user would: one query at a time, lifted."""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor
from torch.func import vmap

from ex01_scores import dot_product, lift, named, project_rows, require
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    said = "weights has " + named(weights, "n"), "tokens has " + named(tokens, "n", "d")
    require(weights.ndim == 1 and tokens.ndim == 2, "a vector and a matrix are wanted", *said)
    require(weights.shape[0] == tokens.shape[0], "as many weights as tokens are wanted", *said)
    return vmap(dot_product, in_dims=(None, 1))(weights, tokens)


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    said = "weights has " + named(weights, "q", "k"), "value has " + named(value, "k", "d_v")
    require(weights.ndim >= 2 and value.ndim >= 2, "two dimensions or more are wanted", *said)
    require(weights.shape[-1] == value.shape[-2], "they differ in the number of keys", *said)
    require(weights.shape[:-2] == value.shape[:-2], "they differ in batch", *said)
    per_query = vmap(linear_combination, in_dims=(0, None))
    return lift(per_query, weights.ndim - 2)(weights, value)


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    said = "key has " + named(key, "k", "d_k"), "value has " + named(value, "k", "d_v")
    require(key.ndim >= 2 and value.ndim >= 2, "two dimensions or more are wanted", *said)
    require(key.shape[-2] == value.shape[-2], "key and value differ in number", *said)
    require(key.shape[:-2] == value.shape[:-2], "key and value differ in batch", *said)
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    query, key, value = project_rows(x, w_q), project_rows(x, w_k), project_rows(x, w_v)
    mask = causal_mask(x.shape[-2], x.device) if causal else None
    return attention(query, key, value, mask)


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    query, key, value = project_rows(x, w_q), project_rows(memory, w_k), project_rows(memory, w_v)
    if memory_mask is not None:
        said = "memory has " + named(memory, "k", "d_m")
        said_mask = "memory_mask has " + named(memory_mask, "k")
        require(memory_mask.shape == memory.shape[:-1], "the mask does not fit", said, said_mask)
        memory_mask = memory_mask[..., None, :]
    return attention(query, key, value, memory_mask)
