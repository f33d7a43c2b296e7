"""Chapter 4 of 7. Softmax: from scores to weights. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def softmax(scores: Float[Tensor, "*shape"], dim: int = -1) -> Float[Tensor, "*shape"]:
    """Turn scores into weights that are positive and sum to 1 over `dim`.

    Difficulty 4 of 5, about 20 minutes.

    A slice is the scores that share one weight of 1: a row of a matrix if `dim` is -1, a column if
    it is 0. The weights must be right at any size of score: at 1e4, where exp overflows, and where
    whole slices lie far below 0. A score of minus infinity is a closed door: its weight is exactly
    0. A slice with every door closed has no weights to give: it becomes zeros, and gradients that
    flow back through it are finite.

    Args:
        scores: any shape, also an empty one; any floating dtype, any device, any strides.
            Left unchanged. May hold minus infinity, never plus infinity or NaN.
        dim: the dimension that sums to 1, counted from either end.

    Returns:
        The weights: shape, dtype and device of `scores`.

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
    total = powers.sum(dim, keepdim=True)  # [..., 1, ...], 0 only where every door is closed
    return powers / total.masked_fill(total == 0, 1)


def attention_weights(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q k"]:
    """Decide how much each query takes from each key: softmax(Q K^T / sqrt(d_k)).

    Difficulty 3 of 5, about 10 minutes.

    The mask comes before the softmax, so that the open doors share the whole weight. A query
    that may look at nothing gets a row of zeros, with finite gradients.

    Args:
        query: what each position asks for; floating, left unchanged.
        key: what each position offers; the dtype, device, batch and d_k of `query`.
        mask: True where the query may attend; broadcasts to [*batch, q, k]. None: everywhere.

    Returns:
        The weights [*batch, q, k], in the dtype and on the device of `query`.

    Raises:
        ValueError: the widths or batches of `query` and `key` differ, or `mask` does not
            broadcast to [*batch, q, k]; the sentence names the sizes.

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
