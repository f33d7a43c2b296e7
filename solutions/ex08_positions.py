"""Chapter 8. Positions: rotary angles, turns and scores. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Float, Num
from torch import Tensor

from ex02_scaling import scaled_scores


def rotary_angles(
    positions: Num[Tensor, " n"], d_head: int, base: float = 10000.0
) -> Float[Tensor, "n d_head/2"]:
    """Say by which angle each pair of features is turned at each position.

    Difficulty 2 of 5, about 10 minutes.

    Positions may come in any order, more than once, below 0, and between two whole numbers.

    Args:
        positions: where the words stand, one number each [n]; int32, int64 or any float dtype.
        d_head: how many features are turned, an even number, at least 2.
        base: above 1; the larger, the slower the later pairs.

    Returns:
        The angles in radians [n, d_head / 2], on the device of `positions`, and float32 whatever
        their dtype is: entry (p, i) is positions[p] * base^(-2i / d_head). Large positions keep the
        digits of float32.

    Raises:
        ValueError: `positions` is not a vector.
        ValueError: `d_head` is odd or below 2.

    Source: Su and others 2021, section 3.2.2; the base of 10000 is chapter 7's.

    Example:
        >>> rotary_angles(torch.tensor([0, 1, 7]), 4)
        tensor([[0.0000, 0.0000],
                [1.0000, 0.0100],
                [7.0000, 0.0700]])
    """
    if positions.ndim != 1 or d_head < 2 or d_head % 2 != 0:
        raise ValueError(
            f"positions must be [n], and d_head even and at least 2: "
            f"got {tuple(positions.shape)} and {d_head}"
        )
    even = torch.arange(0, d_head, 2, dtype=torch.float32, device=positions.device)  # [d_head / 2]
    return positions.float()[:, None] * base ** (-even / d_head)  # [n, d_head / 2]


def _check_fit(x: Tensor, angles: Tensor) -> None:
    """Refuse rows and angles that do not fit together."""
    if x.ndim < 2 or x.shape[-1] % 2 != 0 or angles.shape != (x.shape[-2], x.shape[-1] // 2):
        raise ValueError(
            f"x must be [*batch, n, d_head] and angles [n, d_head / 2], with an even d_head: "
            f"got {tuple(x.shape)} and {tuple(angles.shape)}"
        )


def rotate_pairs(
    x: Float[Tensor, "*batch n d_head"], angles: Float[Tensor, "n d_head/2"]
) -> Float[Tensor, "*batch n d_head"]:
    """Turn neighbouring features: the layout of the paper.

    Difficulty 3 of 5, about 10 minutes.

    Turning changes no row's length.

    Args:
        x: queries or keys as rows [*batch, n, d_head], in any float dtype.
        angles: by how much each pair of each row is turned, in radians [n, d_head / 2], float32.

    Returns:
        The turned rows [*batch, n, d_head]: features (2i, 2i + 1) of row p are turned by
        angles[p, i], the first towards the second. It is worked out in float32 at least, which
        is enough for float64, too, and returned in the dtype of `x`.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `x` has an odd number of features.
        ValueError: `angles` is not [n, d_head / 2].

    Source: Su and others 2021, section 3.2.2, equation 15.

    Example:
        >>> x = torch.tensor([[5.0, 0.0, 0.0, 5.0]])
        >>> rotate_pairs(x, torch.tensor([[0.9273, 0.9273]]))
        tensor([[ 3.0000,  4.0000, -4.0000,  3.0000]])
    """
    _check_fit(x, angles)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.to(wide).cos(), angles.to(wide).sin()  # [n, d_head / 2]
    u, v = x.to(wide).unflatten(-1, (-1, 2)).unbind(-1)  # both [*batch, n, d_head / 2]
    turned = torch.stack((u * cos - v * sin, u * sin + v * cos), -1)  # [*batch, n, d_head / 2, 2]
    return turned.flatten(-2).to(x.dtype)  # [*batch, n, d_head]


def rotate_halves(
    x: Float[Tensor, "*batch n d_head"], angles: Float[Tensor, "n d_head/2"]
) -> Float[Tensor, "*batch n d_head"]:
    """Turn features that are half the width apart: the layout of GPT-NeoX, and of transformers.

    Difficulty 2 of 5, about 5 minutes.

    Turning changes no row's length.

    Args:
        x: queries or keys as rows [*batch, n, d_head], in any float dtype.
        angles: by how much each pair of each row is turned, in radians [n, d_head / 2], float32.

    Returns:
        The turned rows [*batch, n, d_head]: features (i, i + d_head / 2) of row p are turned by
        angles[p, i], the first towards the second. It is worked out in float32 at least, which
        is enough for float64, too, and returned in the dtype of `x`.

    Raises:
        ValueError: `x` has fewer than two dimensions.
        ValueError: `x` has an odd number of features.
        ValueError: `angles` is not [n, d_head / 2].

    Source: Black and others 2022, and the code of GPT-NeoX.

    Example:
        >>> x = torch.tensor([[5.0, 0.0, 0.0, 5.0]])
        >>> rotate_halves(x, torch.tensor([[0.9273, 0.0]]))
        tensor([[3.0000, 0.0000, 4.0000, 5.0000]])
    """
    _check_fit(x, angles)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angles.to(wide).cos(), angles.to(wide).sin()  # [n, d_head / 2]
    u, v = x.to(wide).chunk(2, -1)  # both [*batch, n, d_head / 2]
    return torch.cat((u * cos - v * sin, u * sin + v * cos), -1).to(x.dtype)  # [*batch, n, d_head]


def pairs_to_halves(weight: Float[Tensor, "rows d_in"], n_heads: int) -> Float[Tensor, "rows d_in"]:
    """Put the rows of a weight in the order that the other layout needs.

    Difficulty 3 of 5, about 10 minutes.

    A weight that was trained with `rotate_pairs` gives the same scores with `rotate_halves`
    afterwards, if w_q and w_k are both converted. Row r makes feature r of all heads together: the
    first rows / n_heads rows belong to head 0.

    Args:
        weight: of an nn.Linear, which multiplies by its transpose [rows, d_in], with
            rows = n_heads * d_head.
        n_heads: how many heads; at least 1, and each gets an even number of rows.

    Returns:
        The same rows in another order [rows, d_in]: in each head, row i is the old row 2i, and row
        i + d_head / 2 is the old row 2i + 1.

    Raises:
        ValueError: `weight` is not a matrix.
        ValueError: `n_heads` is below 1, or the rows do not make n_heads heads of an even width.

    Source: what was done to Llama's weights for the transformers library.

    Example:
        >>> pairs_to_halves(torch.arange(8.0)[:, None], n_heads=2).flatten()
        tensor([0., 2., 1., 3., 4., 6., 5., 7.])
    """
    if weight.ndim != 2 or n_heads < 1 or weight.shape[0] % (2 * n_heads) != 0:
        raise ValueError(
            f"weight must be [n_heads * d_head, d_in] with an even d_head: "
            f"got {tuple(weight.shape)} for {n_heads} heads"
        )
    pairs = weight.unflatten(0, (n_heads, -1, 2))  # [n_heads, d_head / 2, 2, d_in]
    return pairs.transpose(1, 2).flatten(0, 2)  # [n_heads * d_head, d_in]


def rotary_scores(
    query: Float[Tensor, "*batch q d"],
    key: Float[Tensor, "*batch k d"],
    query_positions: Num[Tensor, " q"],
    key_positions: Num[Tensor, " k"],
    base: float = 10000.0,
) -> Float[Tensor, "*batch q k"]:
    """Score every query against every key, as they stand to each other.

    Difficulty 2 of 5, about 10 minutes.

    The scores know the distance, not the place: move all positions by the same number, and they
    stay as they are.

    Args:
        query: what each position asks for [*batch, q, d].
        key: what each position offers [*batch, k, d].
        query_positions: where the queries stand [q]; int32, int64 or any float dtype.
        key_positions: where the keys stand [k].
        base: above 1; the larger, the slower the later pairs.

    Returns:
        The scores of chapter 2, of what `rotate_pairs` made of queries and keys [*batch, q, k]:
        scaled by the square root of d. Each is turned by the angles of its own positions;
        angles are float32, also where queries and keys are float64.

    Raises:
        ValueError: `query` or `key` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query` and `key` differ in their batch.
        ValueError: `query` has an odd number of features.
        ValueError: `query_positions` is not [q], or `key_positions` is not [k].

    Source: Su and others 2021, equation 16.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> rotary_scores(x, x, torch.tensor([5, 6]), torch.tensor([3, 4]))
        tensor([[-0.2943,  0.3821],
                [-0.7000, -0.2943]])
    """
    if query.ndim < 2 or query.shape[-1:] != key.shape[-1:]:
        raise ValueError(
            f"query must be [*batch, q, d] and key [*batch, k, d]: "
            f"got {tuple(query.shape)} and {tuple(key.shape)}"
        )
    d = query.shape[-1]
    turned_query = rotate_pairs(query, rotary_angles(query_positions, d, base))  # [*batch, q, d]
    turned_key = rotate_pairs(key, rotary_angles(key_positions, d, base))  # [*batch, k, d]
    return scaled_scores(turned_query, turned_key)  # [*batch, q, k]
