"""Chapter 3. Masking: who may look at whom. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Bool[Tensor, "n n"]:
    """Let every position look at itself and at earlier positions, never ahead.

    Difficulty 2 of 5, about 5 minutes.

    Rows are queries, columns are keys. So the first row has a single True and the last row is
    all True.

    Args:
        n: the number of positions, 0 or more.
        device: where the mask is made, a torch.device or its name. None: the default device.

    Returns:
        The mask [n, n], boolean: entry (i, j) is True where j <= i. It is on `device`. With 0
        positions it is empty.

    Source: document 000, "Masked Self-Attention"; document 002, "Key and Query Vectors".

    Example:
        >>> causal_mask(2)
        tensor([[ True, False],
                [ True,  True]])
    """
    position = torch.arange(n, device=device)  # [n]
    return position <= position[:, None]  # [n, n], key <= query


def padding_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n"]:
    """Mark the real tokens of sequences that were padded at their end to n positions.

    Difficulty 2 of 5, about 10 minutes.

    A length of n means no padding, a length of 0 nothing but padding.

    Args:
        lengths: how many real tokens each sequence has [batch], from 0 to n.
        n: the number of positions, padding included, 0 or more.

    Returns:
        The mask [batch, n], boolean: entry (b, j) is True where j < lengths[b]. With 0 positions it
        is empty.

    Raises:
        ValueError: `lengths` is not a vector.

    Source: document 004, "Word embedding to sequence matrix".

    Example:
        >>> padding_mask(torch.tensor([1, 3]), 3)
        tensor([[ True, False, False],
                [ True,  True,  True]])
    """
    if lengths.ndim != 1:
        raise ValueError(f"lengths must be [batch]: got {tuple(lengths.shape)}")
    return torch.arange(n, device=lengths.device) < lengths[:, None]  # [batch, n]


def decoder_mask(lengths: Int[Tensor, " batch"], n: int) -> Bool[Tensor, "batch n n"]:
    """Let every position look at itself and at earlier positions, but never at padding.

    Difficulty 3 of 5, about 10 minutes.

    Both masks of this chapter at once. Padding is masked as a key only: a padded query still looks
    at the real tokens before it. What it finds is never used, so its row need not be emptied (set
    to False), and here it must not be.

    Args:
        lengths: how many real tokens each sequence has [batch], from 0 to n.
        n: the number of positions, padding included, 0 or more.

    Returns:
        The mask [batch, n, n], boolean: entry (b, i, j) is True where j <= i and j < lengths[b].
        With 0 positions it is empty.

    Raises:
        ValueError: `lengths` is not a vector.

    Source: document 000, "Masked Self-Attention"; document 004, "Word embedding to sequence
        matrix".

    Example:
        >>> decoder_mask(torch.tensor([1, 2]), 2)
        tensor([[[ True, False],
                 [ True, False]],
        <BLANKLINE>
                [[ True, False],
                 [ True,  True]]])
    """
    real = padding_mask(lengths, n)[:, None, :]  # [batch, 1, n], the same for every query
    return causal_mask(n, lengths.device) & real  # [n, n] & [batch, 1, n] -> [batch, n, n]


def apply_mask(
    scores: Float[Tensor, "*batch q k"], mask: Bool[Tensor, "*mask"]
) -> Float[Tensor, "*batch q k"]:
    """Put minus infinity where the mask is False, and leave the score where it is True.

    Difficulty 3 of 5, about 15 minutes.

    The mask may be smaller than the scores, and then serves several of them: [q, k] serves every
    sequence of a batch, [batch, 1, k] every query. It is never larger: a mask that would repeat
    the scores, or add a dimension to them, does not fit. A large negative number such as -1e9 is
    not minus infinity, and float16 cannot even hold it.

    Args:
        scores: any scores [*batch, q, k].
        mask: True where the query may attend; broadcasts to the shape of `scores`.

    Returns:
        The masked scores [*batch, q, k], a new tensor: minus infinity where the mask is False, the
        score itself where it is True. A row may be masked entirely.

    Raises:
        ValueError: `mask` does not broadcast to the shape of `scores`.

    Source: document 002, "Key and Query Vectors".

    Example:
        >>> apply_mask(torch.zeros(2, 2), torch.tensor([[True, False], [True, True]]))
        tensor([[0., -inf],
                [0., 0.]])
    """
    try:
        mask = mask.expand(scores.shape)  # [*batch, q, k]; the mask may grow, the scores never
    except RuntimeError as error:
        sizes = f"{tuple(mask.shape)} to {tuple(scores.shape)}"
        raise ValueError(f"mask must broadcast to the shape of scores: got {sizes}") from error
    return scores.masked_fill(~mask, -torch.inf)
