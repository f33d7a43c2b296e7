"""Chapter 4. Softmax: from scores to weights.

The question
    A query has scored every key. How much of each value should it take? It needs weights: none
    below 0, together exactly 1, and larger where the score is larger.

The formula
    softmax(s)_j = exp(s_j) / sum over j' of exp(s_j')

    exp makes every number positive, and the division makes each row sum to 1. The most useful fact
    here: adding the same number to a whole row changes nothing, because it cancels in the division.
    So subtract the row's largest score first, and exp never sees anything above 0.

    In attention the mask and the scale come before the softmax: softmax(Q K^T / sqrt(d_k)), with
    minus infinity at the masked places. The softmax runs over the keys, so each query has a row of
    weights of its own.

Shapes
                 keys                            keys
               0    1    2                     0     1     2
    query 0  [ 1.4  0.2 -0.3 ]              [ 0.67  0.20  0.12 ]   sums to 1
    query 1  [ 0.0  0.0 -inf ]  -softmax->  [ 0.50  0.50  0.00 ]   sums to 1
    query 2  [ -inf -inf -inf ]             [ 0.00  0.00  0.00 ]   may look at nothing
               scores [q, k]                   weights [q, k]      each row over its keys

    A query that may look at nothing gets zeros, not NaN.

By hand
    In document 001 the query "write" splits its attention 36 %, 40 %, 24 % over "write", "a" and
    "poem". In document 002 the masked row (0.7593, -2.2869, -inf) becomes (0.9546, 0.0454, 0):
    exp(0) = 1 and exp(-2.2869 - 0.7593) = 0.0475, together 1.0475, and 1 / 1.0475 = 0.9546.
    Answers, with reasons, and more questions: `python -m grader quiz ex04_softmax`

The rules
    What every function has to keep, whatever its stub says, is in RULES.md beside this file; words
    that may be new, such as gradient, are in CARDS.md.

May be used
    torch.exp, sum, amax, where, masked_fill, torch.logsumexp and your own earlier chapters.
    sum and amax drop the dimension that they run over; with keepdim=True it stays, with size 1,
    and the result still lines up with the scores.
    Not a ready-made softmax, log_softmax, softmin or attention, under whatever name: the point
    is to build it. From chapter 5 on torch.softmax is yours.

If you have the documents
    000 says that the softmax runs over a head's features, 003 that weights and scores differ in
    shape: it runs over the keys, and both are [q, k].
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    """Turn scores into weights that sum to 1 over `dim`.

    Difficulty 4 of 5, about 20 minutes.

    A slice is a set of scores whose weights sum to 1: a row of a matrix if `dim` is -1, a column if
    it is 0. Mind scores of 1e4, where exp overflows, and slices far below 0, where exp gives
    nothing but zeros.

    Args:
        scores: any shape; there may be minus infinity in it, but never plus infinity or NaN.
        dim: the dimension over which the weights sum to 1, counted from either end.

    Returns:
        The weights, in the shape of `scores`: exp(score) divided by the sum of exp over its slice,
        however large the scores are. A slice sums to 1 to the precision of its dtype. Minus
        infinity gives exactly 0. A slice that is all minus infinity gives zeros, and finite
        gradients. An empty tensor gives an empty one.

    Source: document 001, "The Matrix Math"; document 003, "Attention scores".

    Example:
        >>> softmax(torch.tensor([0.0, 0.0, -torch.inf]))
        tensor([0.5000, 0.5000, 0.0000])
        >>> softmax(torch.tensor([10000.0, 10000.0]))
        tensor([0.5000, 0.5000])
    """
    raise NotImplementedError("ex04_softmax.softmax")


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    """Decide how much each query takes from each key: softmax(Q K^T / sqrt(d_k)).

    Difficulty 3 of 5, about 10 minutes.

    The mask comes before the softmax, so that the remaining keys share the whole weight.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].
        mask: True where the query may attend; broadcasts to [*batch, q, k]. None: everywhere.

    Returns:
        The weights [*batch, q, k]: the softmax of the scaled scores, masked before it. A query that
        may attend to nothing gets a row of zeros, and finite gradients.

    Raises:
        ValueError: `query` or `key` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query` and `key` differ in their batch.
        ValueError: `mask` does not broadcast to [*batch, q, k].

    Source: document 002, "Key and Query Vectors"; document 000, "Masked Self-Attention".

    Example:
        >>> tokens = torch.eye(2)
        >>> attention_weights(tokens, tokens, torch.tensor([[True, False], [True, True]]))
        tensor([[1.0000, 0.0000],
                [0.3302, 0.6698]])
    """
    raise NotImplementedError("ex04_softmax.attention_weights")
