"""Chapter 1. Scores: how well two tokens match. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def _require(fits: bool, rule: str, *tensors: Tensor) -> None:
    """Raise a ValueError that states the rule and names the shapes, unless they fit."""
    if not fits:
        raise ValueError(f"{rule}: got {' and '.join(str(tuple(t.shape)) for t in tensors)}")


def dot_product(a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Float[Tensor, ""]:
    """Measure how well two vectors match: multiply entry by entry, add everything up.

    Difficulty 1 of 5, about 5 minutes.

    It grows with the lengths of the vectors: it is not the cosine. Return a tensor, not a Python
    number, so that gradients can flow back through it.

    Args:
        a: a vector [d].
        b: another one [d].

    Returns:
        The sum of the products, entry by entry: a tensor without dimensions, [].

    Raises:
        ValueError: `a` or `b` is not a vector.
        ValueError: `a` and `b` differ in length.

    Source: document 002, "Naive Attention".

    Example:
        >>> dot_product(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0]))
        tensor(32.)
    """
    _require(a.ndim == b.ndim == 1 and a.shape == b.shape, "a and b must both be [d]", a, b)
    return torch.dot(a, b)


def naive_scores(tokens: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n n"]:
    """Score every token against every token of its own sequence, without projections.

    Difficulty 1 of 5, about 5 minutes.

    So the scores are symmetric, and the diagonal holds the squared lengths. One matrix product
    does it; two loops over the tokens would be right but far too slow.

    Args:
        tokens: one token per row [*batch, n, d].

    Returns:
        The scores [*batch, n, n]: entry (i, j) is the dot product of token i and token j.

    Raises:
        ValueError: `tokens` has fewer than two dimensions.

    Source: document 002, "Naive Attention".

    Example:
        >>> naive_scores(torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
        tensor([[1., 1.],
                [1., 2.]])
    """
    _require(tokens.ndim >= 2, "tokens must be [*batch, n, d]", tokens)
    return tokens @ tokens.mT  # [*batch, n, n]


def project_rows(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_in d_out"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    """Map every token, one per row, to a new vector: x W + b.

    Difficulty 2 of 5, about 10 minutes.

    Every token is multiplied by the same weight and gets the same bias, whatever its position. The
    weight is one matrix for the whole batch.

    Args:
        x: tokens as rows [*batch, n, d_in].
        weight: one matrix [d_in, d_out].
        bias: a vector [d_out]. None: no bias.

    Returns:
        The projected tokens, x W + b [*batch, n, d_out].

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `weight` is not a matrix with d_in rows.
        ValueError: `bias` is not a vector of d_out numbers.

    Source: document 002, "Key and Query Vectors"; document 000, "Query, Key and Value Vectors".

    Example:
        >>> weight = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
        >>> project_rows(torch.tensor([[1.0, 2.0]]), weight)
        tensor([[1., 2., 3.]])
        >>> project_rows(torch.tensor([[1.0, 2.0]]), weight, torch.tensor([0.0, 0.0, 10.0]))
        tensor([[ 1.,  2., 13.]])
    """
    _require(
        x.ndim >= 2 and weight.ndim == 2 and x.shape[-1] == weight.shape[0],
        "x [*batch, n, d_in] and weight [d_in, d_out] must share d_in",
        x,
        weight,
    )
    out = x @ weight  # [*batch, n, d_out]
    if bias is None:
        return out
    _require(bias.shape == out.shape[-1:], "bias [d_out] must fit x W [..., d_out]", bias, out)
    return out + bias  # [*batch, n, d_out] + [d_out]


def project_linear(
    x: Float[Tensor, "*batch n d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch n d_out"]:
    """Map every token, one per row, with a weight as nn.Linear stores it: x W^T + b.

    Difficulty 2 of 5, about 5 minutes.

    nn.Linear stores one row of its weight for each number of the output. Mind a square weight: it
    fits without the transpose too, but the answer is wrong.

    Args:
        x: tokens as rows [*batch, n, d_in].
        weight: one matrix [d_out, d_in].
        bias: a vector [d_out]. None: no bias.

    Returns:
        The projected tokens, x W^T + b [*batch, n, d_out]. With `layer.weight` and `layer.bias`
        they are what `layer(x)` gives.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `weight` is not a matrix with d_in columns.
        ValueError: `bias` is not a vector of d_out numbers.

    Source: document 001, "The Matrix Math", the note on the transpose.

    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> project_linear(torch.tensor([[1.0, 2.0]]), weight)
        tensor([[1., 2., 3.]])
    """
    _require(
        x.ndim >= 2 and weight.ndim == 2 and x.shape[-1] == weight.shape[1],
        "x [*batch, n, d_in] and weight [d_out, d_in] must share d_in",
        x,
        weight,
    )
    return project_rows(x, weight.T, bias)  # [*batch, n, d_out]


def project_columns(
    x: Float[Tensor, "*batch d_in n"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*batch d_out n"]:
    """Map every token, one per column, to a new vector: W x + b 1^T.

    Difficulty 2 of 5, about 10 minutes.

    Textbooks often write it so: each token is a column, and the weight comes from the left. The
    row of ones in the formula only says that every column gets the whole bias. Mind n = d_out:
    then the bias also fits in the wrong direction, and the answer is wrong.

    Args:
        x: tokens as columns [*batch, d_in, n].
        weight: one matrix [d_out, d_in].
        bias: a vector [d_out]. None: no bias.

    Returns:
        The projected tokens, W x + b 1^T, still as columns [*batch, d_out, n].

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `weight` is not a matrix with d_in columns.
        ValueError: `bias` is not a vector of d_out numbers.

    Source: document 004, "Query projections with bias".

    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> tokens = torch.tensor([[1.0, 3.0], [2.0, 4.0]])
        >>> project_columns(tokens, weight, torch.tensor([0.0, 0.0, 10.0]))
        tensor([[ 1.,  3.],
                [ 2.,  4.],
                [13., 17.]])
    """
    _require(
        x.ndim >= 2 and weight.ndim == 2 and x.shape[-2] == weight.shape[1],
        "x [*batch, d_in, n] and weight [d_out, d_in] must share d_in",
        x,
        weight,
    )
    return project_linear(x.mT, weight, bias).mT  # (X^T W^T + 1 b^T)^T: [*batch, d_out, n]


def dot_product_scores(
    query: Float[Tensor, "*batch q d_k"], key: Float[Tensor, "*batch k d_k"]
) -> Float[Tensor, "*batch q k"]:
    """Score every query against every key: Q K^T.

    Difficulty 2 of 5, about 10 minutes.

    There may be more keys than queries, or fewer. Every sequence of a batch has its own queries
    and its own keys: batches of different sizes do not fit, not even a batch of one.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].

    Returns:
        The scores [*batch, q, k]: entry (i, j) is the dot product of query i and key j.

    Raises:
        ValueError: `query` or `key` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query` and `key` differ in their batch.

    Source: document 002, "Key and Query Vectors"; document 003, "Attention scores"; document 000,
        "Self-Attention Mechanism".

    Example:
        >>> query = torch.tensor([[1.0, 2.0]])
        >>> dot_product_scores(query, torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[11.,  2.]])
    """
    _require(
        query.ndim == key.ndim >= 2
        and query.shape[:-2] == key.shape[:-2]
        and query.shape[-1] == key.shape[-1],
        "query [*batch, q, d_k] and key [*batch, k, d_k] must share batch and d_k",
        query,
        key,
    )
    return query @ key.mT  # [*batch, q, k]
