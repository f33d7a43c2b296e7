"""Chapter 4. Softmax: from scores to weights. The reference answer."""

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
    if scores.numel() == 0:
        return scores.clone()
    peak = scores.detach().amax(dim, keepdim=True)  # [..., 1, ...]
    peak = peak.masked_fill(peak == -torch.inf, 0)  # -inf - -inf would be NaN
    powers = torch.exp(scores - peak)  # [*shape], at most 1
    total = powers.sum(dim, keepdim=True)  # [..., 1, ...], 0 only where all is -inf
    return powers / total.masked_fill(total == 0, 1)


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
    scores = scaled_scores(query, key)  # [*batch, q, k]
    if mask is not None:
        scores = apply_mask(scores, mask)  # [*batch, q, k]
    return softmax(scores)
