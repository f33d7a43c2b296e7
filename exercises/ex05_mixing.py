"""Chapter 5 of 7. Mixing: weights times values.

The question
    The weights are decided: so much from this token, so much from that one. What does a query
    walk away with? One vector, and a vector of the same kind whether it listened to one token or
    to a hundred.

The formula
    out_i = w_i0 v_0 + w_i1 v_1 + ... + w_i(k-1) v_(k-1)         for every query i at once: W V
    attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    This is a linear combination, and that is all attention does with content. The queries and
    the keys only decide how much; the values are what is handed over. The values need not be as
    wide as the keys: the answer is as wide as the values.

Shapes
    weights [q, k]                           value [k, d_v]             out [q, d_v]

             key 0  key 1  key 2
    query 0 [ 1.00   0.00   0.00 ]      v_0 [ . . . . ]       row 0 = v_0
    query 1 [ 0.95   0.05   0.00 ]   @  v_1 [ . . . . ]   =   row 1 = 0.95 v_0 + 0.05 v_1
    query 2 [ 0.26   0.72   0.03 ]      v_2 [ . . . . ]       row 2 = a bit of all three

    Where the three inputs come from is the whole difference between two names:

    self-attention     query from x [n, d]    key and value from x [n, d]           out [n, d_v]
    cross-attention    query from x [q, d]    key and value from memory [k, d_m]    out [q, d_v]

By hand
    Document 002 begins with half of (0.3367, 0.1288, ...) and half of (-0.1863, 2.2082, ...):
    (0.0752, 1.1685, ...). In document 001 "write" splits its attention 36 %, 40 %, 24 % over
    values that begin with 0.60, -0.35 and 3.87: 0.216 - 0.140 + 0.929 = 1.005, near enough to
    1.010, which has all the digits. And row 1 of document 002: the weights (0.9546, 0.0454, 0)
    over values that begin with -0.9285, 0.4676 and 0.6143 give -0.8651 (printed: -0.8652). What
    is row 0, without reckoning?

Where the documents are loose
    Document 002 multiplies a W that it never made with its tokens: it is S, the naive scores.
    Those are not weights, they sum to nothing in particular; a linear combination allows that.
    Document 003 writes the value as k = W_v * x: that is v. It calls S n x n and its softmax
    m x m: both are n x n in self-attention, and q x k in cross-attention.
    Document 001 makes the values as wide as the embeddings and cuts 3.8670 to 3.86. Documents 000
    and 003 are right where they say that a value may have a width of its own.
    Document 000 calls "attention" what looks at another sequence. Here attention is the formula,
    for any query, key and value; the two names above say where these come from.

May be used
    torch.matmul or its short form @, torch.softmax, and your own earlier chapters: most of this
    one is putting them together.
    Not a ready-made attention: not scaled_dot_product_attention, not nn.MultiheadAttention, nor
    what lies under them.
"""

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
    raise NotImplementedError("ex05_mixing.linear_combination")


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
    raise NotImplementedError("ex05_mixing.mix_values")


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
    raise NotImplementedError("ex05_mixing.attention")


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
    raise NotImplementedError("ex05_mixing.self_attention")


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
    raise NotImplementedError("ex05_mixing.cross_attention")
