"""Chapter 5. Mixing: weights times values. The reference answer."""

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

    The weights are taken as they are: they need not be positive and need not sum to 1.

    Args:
        weights: one number per token [n]; there may be 0 tokens.
        tokens: the tokens as rows [n, d].

    Returns:
        The sum of the tokens, each times its weight [d]. With 0 tokens it is zeros.

    Raises:
        ValueError: `weights` is not a vector.
        ValueError: `tokens` is not a matrix.
        ValueError: there are more weights than tokens, or fewer.

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

    The weights are taken as they are, so a row of zeros gives a row of zeros. One set of values is
    never shared by a whole batch.

    Args:
        weights: one row per query, one column per key [*batch, q, k].
        value: one row per key [*batch, k, d_v].

    Returns:
        The mixtures [*batch, q, d_v]: row i is the linear combination of the value rows with row i
        of the weights.

    Raises:
        ValueError: `weights` or `value` has fewer than two dimensions.
        ValueError: `weights` and `value` differ in their number of keys.
        ValueError: `weights` and `value` differ in their batch.

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

    The whole formula, from vectors to vectors. The values need not be as wide as queries and keys.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].
        value: what each position hands over [*batch, k, d_v].
        mask: True where the query may attend; broadcasts to [*batch, q, k]. None: everywhere.

    Returns:
        One mixture of values per query, softmax(Q K^T / sqrt(d_k)) V [*batch, q, d_v]. A query that
        may attend to nothing gets a row of zeros, and finite gradients.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `mask` does not broadcast to [*batch, q, k].

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

    The same tokens play all three roles: queries, keys and values are three projections of `x`,
    without a bias.

    Args:
        x: the tokens as rows [*batch, n, d].
        w_q: makes the queries, x @ w_q; a matrix [d, d_k].
        w_k: makes the keys, x @ w_k; a matrix [d, d_k].
        w_v: makes the values, x @ w_v; a matrix [d, d_v].
        causal: whether each token sees only itself and the tokens before it.

    Returns:
        One new row per token [*batch, n, d_v]: the attention of the queries x w_q over the keys
        x w_k and the values x w_v. With `causal`, later tokens have no influence on it.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `w_q`, `w_k` or `w_v` is not a matrix with d rows.
        ValueError: `w_q` and `w_k` differ in width.

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
    length and another width.

    Args:
        x: the tokens that look, as rows [*batch, q, d].
        memory: the tokens looked at, as rows [*batch, k, d_m].
        w_q: makes the queries, x @ w_q; a matrix [d, d_k].
        w_k: makes the keys, memory @ w_k; a matrix [d_m, d_k].
        w_v: makes the values, memory @ w_v; a matrix [d_m, d_v].
        memory_mask: True on the memory tokens that may be looked at, the same for every query;
            exactly [*batch, k]. None: all of them.

    Returns:
        One new row per token of `x` [*batch, q, d_v]: the attention of the queries x w_q over the
        keys memory w_k and the values memory w_v. Where no memory token may be looked at, it is
        zeros, with finite gradients.

    Raises:
        ValueError: `x` or `memory` has fewer than two dimensions.
        ValueError: `w_q` is not a matrix with d rows.
        ValueError: `w_k` or `w_v` is not a matrix with d_m rows.
        ValueError: `w_q` and `w_k` differ in width.
        ValueError: `x` and `memory` differ in their batch.
        ValueError: `memory_mask` is not [*batch, k].

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
