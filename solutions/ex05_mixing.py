"""Chapter 5 of 7. Mixing: weights times values. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    """Add up the tokens, each one times its weight.

    Difficulty 1 of 5, about 5 minutes.

    The weights are taken as they are: they need not be positive and need not sum to 1. With no
    tokens at all the sum is empty, and the answer is zeros.

    Args:
        weights: one number per token; floating, left unchanged.
        tokens: the tokens as rows; the dtype, device and n of `weights`. Left unchanged.

    Returns:
        The combination [d], in the dtype and on the device of `tokens`.

    Raises:
        ValueError: `weights` is not [n], or `tokens` is not [n, d] with the same n; the
            sentence names the sizes.

    Source: document 002, "Linear Combinations".

    Example:
        >>> tokens = torch.tensor([[1.0, 0.0], [3.0, 8.0]])
        >>> linear_combination(torch.tensor([0.5, 0.5]), tokens)
        tensor([2., 4.])
    """
    if weights.ndim != 1 or tokens.ndim != 2 or len(weights) != len(tokens):
        raise ValueError(
            f"weights [n] and tokens [n, d] must share n: "
            f"got {tuple(weights.shape)} and {tuple(tokens.shape)}"
        )
    return weights @ tokens  # [d]


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    """Give each query its own linear combination of the values.

    Difficulty 2 of 5, about 5 minutes.

    Row i of the answer is the linear combination of the value rows with row i of the weights.
    The weights are taken as they are, so a row of zeros gives a row of zeros. The batch
    dimensions of the two inputs are equal: one set of values is never shared by a whole batch.

    Args:
        weights: one row per query, one column per key; floating, left unchanged.
        value: one row per key; the dtype, device, batch and k of `weights`. Left unchanged.

    Returns:
        The mixtures [*batch, q, d_v], in the dtype and on the device of `value`.

    Raises:
        ValueError: an input has fewer than 2 dimensions, or the batches or the numbers of keys
            differ; the sentence names the sizes.

    Source: document 002, "Value Vectors"; document 001, "The Matrix Math"; document 003,
        "Weighted sums".

    Example:
        >>> weights = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
        >>> mix_values(weights, torch.tensor([[4.0, 0.0, 0.0], [0.0, 4.0, 8.0]]))
        tensor([[4., 0., 0.],
                [1., 3., 6.]])
    """
    if (
        min(weights.ndim, value.ndim) < 2
        or weights.shape[:-2] != value.shape[:-2]
        or weights.shape[-1] != value.shape[-2]
    ):
        raise ValueError(
            f"weights [*batch, q, k] and value [*batch, k, d_v] must share batch and k: "
            f"got {tuple(weights.shape)} and {tuple(value.shape)}"
        )
    return weights @ value  # [*batch, q, d_v]


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    """Let each query take what it needs: softmax(Q K^T / sqrt(d_k)) V.

    Difficulty 2 of 5, about 5 minutes.

    The whole formula, from vectors to vectors. The width of the values is free: it may differ
    from the width that queries and keys share. A query that may look at nothing gets a row of
    zeros, with finite gradients.

    Args:
        query: what each position asks for; floating, left unchanged.
        key: what each position offers; the dtype, device, batch and d_k of `query`. Left
            unchanged.
        value: what each position hands over, one row per key; the dtype, device and batch of
            `query`. Left unchanged.
        mask: True where the query may attend; broadcasts to [*batch, q, k]. None: everywhere.

    Returns:
        One mixture of values per query, [*batch, q, d_v], in the dtype and on the device of
        `query`.

    Raises:
        ValueError: the batches differ, `query` and `key` differ in width, `key` and `value` in
            number, or `mask` does not broadcast to [*batch, q, k]; the sentence names the sizes.

    Source: document 001, "The Matrix Math".

    Example:
        >>> query, key = torch.zeros(1, 2), torch.eye(2)
        >>> value = torch.tensor([[2.0, 4.0, 6.0], [0.0, 0.0, 2.0]])
        >>> attention(query, key, value)
        tensor([[1., 2., 4.]])
        >>> attention(query, key, value, torch.tensor([True, False]))
        tensor([[2., 4., 6.]])
    """
    return mix_values(attention_weights(query, key, mask), value)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    """Let the tokens of one sequence look at each other.

    Difficulty 3 of 5, about 10 minutes.

    The same tokens play all three parts: queries, keys and values are three projections of `x`,
    without a bias. With `causal`, a token sees itself and the tokens before it, and a change to
    a later token changes nothing in its row.

    Args:
        x: the tokens as rows; floating, left unchanged.
        w_q: makes the queries, used as x @ w_q; the dtype and device of `x`. Left unchanged.
        w_k: makes the keys; the shape, dtype and device of `w_q`. Left unchanged.
        w_v: makes the values, whose width is free; the dtype and device of `x`. Left unchanged.
        causal: True closes the door to later tokens.

    Returns:
        One new row per token, [*batch, n, d_v], in the dtype and on the device of `x`.

    Raises:
        ValueError: a weight does not fit the width of `x`, or `w_q` and `w_k` differ in width;
            the sentence names the sizes.

    Source: document 002, the whole path from tokens to "Value Vectors"; document 003, "Query
        vector" to "Weighted sums".

    Example:
        >>> x = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> all_alike, same = torch.zeros(2, 1), torch.eye(2)
        >>> self_attention(x, all_alike, all_alike, same)
        tensor([[1., 2.],
                [1., 2.]])
        >>> self_attention(x, all_alike, all_alike, same, causal=True)
        tensor([[2., 0.],
                [1., 2.]])
    """
    query = project_rows(x, w_q)  # [*batch, n, d_k]
    key = project_rows(x, w_k)  # [*batch, n, d_k]
    value = project_rows(x, w_v)  # [*batch, n, d_v]
    mask = causal_mask(x.shape[-2], x.device) if causal else None  # [n, n]
    return attention(query, key, value, mask)


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    """Let the tokens of one sequence look at those of another.

    Difficulty 3 of 5, about 10 minutes.

    The queries come from `x`; the keys and the values come from `memory`, which may have another
    length and another width. The mask says which memory tokens are real, the same for every
    query. With none that is real, the answer is zeros, with finite gradients.

    Args:
        x: the tokens that look, as rows; floating, left unchanged.
        memory: the tokens looked at, as rows; the dtype, device and batch of `x`. Left
            unchanged.
        w_q: makes the queries, used as x @ w_q; the dtype and device of `x`. Left unchanged.
        w_k: makes the keys from `memory`; the dtype, device and d_k of `w_q`. Left unchanged.
        w_v: makes the values from `memory`; the dtype and device of `x`. Left unchanged.
        memory_mask: True on the memory tokens that may be looked at; exactly [*batch, k], not
            broadcast. None: all of them.

    Returns:
        One new row per token of `x`, [*batch, q, d_v], in the dtype and on the device of `x`.

    Raises:
        ValueError: a weight does not fit its tokens, `w_q` and `w_k` differ in width, the
            batches differ, or `memory_mask` is not [*batch, k]; the sentence names the sizes.

    Source: document 000, "Attention Vs. Self-Attention".

    Example:
        >>> x = torch.ones(1, 3)
        >>> memory = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> w_q, w_k, w_v = torch.zeros(3, 1), torch.zeros(2, 1), torch.eye(2)
        >>> cross_attention(x, memory, w_q, w_k, w_v)
        tensor([[1., 2.]])
        >>> cross_attention(x, memory, w_q, w_k, w_v, torch.tensor([False, True]))
        tensor([[0., 4.]])
    """
    query = project_rows(x, w_q)  # [*batch, q, d_k]
    key = project_rows(memory, w_k)  # [*batch, k, d_k]
    value = project_rows(memory, w_v)  # [*batch, k, d_v]
    if memory_mask is None:
        return attention(query, key, value)
    if memory_mask.shape != memory.shape[:-1]:
        raise ValueError(
            f"memory_mask must be [*batch, k] for memory [*batch, k, d_m]: "
            f"got {tuple(memory_mask.shape)} and {tuple(memory.shape)}"
        )
    return attention(query, key, value, memory_mask[..., None, :])  # mask [*batch, 1, k]
