"""Chapter 2. Scaling: why scores are divided by sqrt(d_k). The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ex01_scores import dot_product_scores


def scale_scores(scores: Float[Tensor, "*batch q k"], d_k: int) -> Float[Tensor, "*batch q k"]:
    """Divide scores by sqrt(d_k), which brings them back to a spread of about 1.

    Difficulty 1 of 5, about 5 minutes.

    The divisor is the square root of the keys' width, not of the number of keys, and neither the
    width itself nor its square. Do not divide in place: the caller still needs the scores.

    Args:
        scores: any scores [*batch, q, k].
        d_k: the width of the keys that made the scores, at least 1.

    Returns:
        The scores divided by sqrt(d_k) [*batch, q, k]. Minus infinity stays minus infinity.

    Source: document 001, "The Matrix Math"; document 002, "Key and Query Vectors".

    Example:
        >>> scale_scores(torch.tensor([[6.0, -3.0, 0.0]]), 9)
        tensor([[ 2., -1.,  0.]])
    """
    return scores / d_k**0.5  # [*batch, q, k]


def scaled_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    """Score every query against every key, on the same scale at any width: Q K^T / sqrt(d_k).

    Difficulty 2 of 5, about 5 minutes.

    d_k is read from the tensors: it is the last dimension of the keys, never their number and
    never the size of the batch.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].

    Returns:
        The scores Q K^T divided by the square root of d_k [*batch, q, k].

    Raises:
        ValueError: `query` or `key` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query` and `key` differ in their batch.

    Source: document 001, "The Matrix Math".

    Example:
        >>> query = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
        >>> scaled_scores(query, torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 1.0]]))
        tensor([[5.0000, 0.5000]])
    """
    return scale_scores(dot_product_scores(query, key), key.shape[-1])  # [*batch, q, k]


def score_spread(
    d_k: int, pairs: int, generator: torch.Generator | None = None
) -> Float[Tensor, ""]:
    """Measure the spread of unscaled scores when the keys are d_k wide.

    Difficulty 3 of 5, about 15 minutes.

    An experiment: draw `pairs` queries and as many keys, all of unit-normal numbers, and take the
    dot product of each query with its own key. The result is measured, so it is near sqrt(d_k),
    not equal to it.

    Args:
        d_k: the width of queries and keys, at least 1.
        pairs: how many dot products to take, at least 2.
        generator: where the random numbers come from. None: torch's own generator.

    Returns:
        The standard deviation of the dot products, a floating-point tensor without dimensions, [];
        dividing by `pairs` and dividing by `pairs` - 1 are both fine. Every number is drawn with
        `generator`, on its device: the same state gives the same answer, another state another
        one. With `generator`, no other generator is seeded or drawn from.

    Source: the reason for the scale in document 001, "The Matrix Math".

    Example:
        >>> spread = score_spread(16, 10000, torch.Generator().manual_seed(0))
        >>> bool(3.8 < spread < 4.2)
        True
    """
    device = None if generator is None else generator.device
    query = torch.randn(pairs, d_k, generator=generator, device=device)  # [pairs, d_k]
    key = torch.randn(pairs, d_k, generator=generator, device=device)  # [pairs, d_k]
    return (query * key).sum(-1).std()  # [pairs, d_k] -> [pairs] -> []
