"""Chapter 5. Mixing: weights times values.

The question
    The weights are decided: so much from this token, so much from that one. What does a query
    walk away with? One vector, of the same kind whether it looked at one token or at a hundred.

The formula
    out_i = w_i0 v_0 + w_i1 v_1 + ... + w_i(k-1) v_(k-1)         for every query i at once: W V
    attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V

    This is a linear combination, and it is all that attention does with content. The queries and
    the keys only decide how much of each value to take; the values are what is handed over. The
    values need not be as wide as the keys: the output is as wide as the values.

Shapes
    weights [q, k]                           value [k, d_v]             out [q, d_v]

             key 0  key 1  key 2
    query 0 [ 1.00   0.00   0.00 ]      v_0 [ . . . . ]       row 0 = v_0
    query 1 [ 0.95   0.05   0.00 ]   @  v_1 [ . . . . ]   =   row 1 = 0.95 v_0 + 0.05 v_1
    query 2 [ 0.26   0.72   0.03 ]      v_2 [ . . . . ]       row 2 = a bit of all three

    Rows of the weights are queries, columns are keys.

    Self-attention and cross-attention differ only in where the three inputs come from:

    self-attention     query from x [n, d]    key and value from x [n, d]           out [n, d_v]
    cross-attention    query from x [q, d]    key and value from memory [k, d_m]    out [q, d_v]

By hand
    Document 002 begins with half of (0.3367, 0.1288, ...) and half of (-0.1863, 2.2082, ...):
    (0.0752, 1.1685, ...). In document 001 "write" splits its attention 36 %, 40 %, 24 % over
    values that begin with 0.60, -0.35 and 3.87: 0.216 - 0.140 + 0.929 = 1.005, near enough to
    1.010, which is computed with all the digits. And row 1 of document 002: the weights
    (0.9546, 0.0454, 0) over values that begin with -0.9285, 0.4676 and 0.6143 give -0.8651
    (printed: -0.8652). What is row 0? You can tell without working it out.
    Answers, with reasons, and more questions: `python -m grader quiz ex05_mixing`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as batch or broadcasting, are in CARDS.md.

May be used
    torch.matmul or its short form @, torch.softmax, and your own earlier chapters: most of this
    one is putting them together.
    Not a ready-made attention: not scaled_dot_product_attention, not nn.MultiheadAttention, nor
    what lies under them.

If you have the documents
    Where 002 multiplies its tokens by W, it means S, the naive scores. Where 003 writes the value
    as k = W_v * x, it means v.
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
    raise NotImplementedError("ex05_mixing.linear_combination")


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
    raise NotImplementedError("ex05_mixing.mix_values")


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
    raise NotImplementedError("ex05_mixing.cross_attention")
