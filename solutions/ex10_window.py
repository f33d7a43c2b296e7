"""Chapter 10. Windows: attention that looks back only so far. The reference answer."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ex05_mixing import attention


def causal_mask_at(q: int, k: int, device: torch.device | str | None = None) -> Bool[Tensor, "q k"]:
    """Let the last q of k positions look at themselves and at all positions before them.

    Difficulty 2 of 5, about 5 minutes.

    The positions are those of one sequence: the keys stand at all of them, the queries at the last
    q. So the last query sees all keys. With q = k this is the `causal_mask` of chapter 3.

    Args:
        q: the number of queries, from 0 to k.
        k: the number of keys, 0 or more.
        device: where the mask is made, a torch.device or its name. None: the default device.

    Returns:
        The mask [q, k], boolean: entry (i, j) is True where j <= k - q + i. It is on `device`. With
        0 queries it is empty.

    Raises:
        ValueError: there are more queries than keys.

    Source: the library flash-attention, whose causal mask is aligned at the bottom right.

    Example:
        >>> causal_mask_at(2, 4)
        tensor([[ True,  True,  True, False],
                [ True,  True,  True,  True]])
    """
    if q > k:
        raise ValueError(f"the queries are the last of the keys: got {q} queries and {k} keys")
    position = torch.arange(k, device=device)  # [k]
    return position <= position[k - q :, None]  # [q, k], key <= query


def window_mask(
    q: int, k: int, window: int, sinks: int = 0, device: torch.device | str | None = None
) -> Bool[Tensor, "q k"]:
    """Let the last q of k positions look at the last few positions, and at the first few.

    Difficulty 3 of 5, about 10 minutes.

    The window may be longer than the sequence, and so may the sinks. A position that is in both is
    True as well.

    Args:
        q: the number of queries, from 0 to k.
        k: the number of keys, 0 or more.
        window: how many positions a query looks back at, its own counted; at least 1.
        sinks: how many positions at the start of the keys every later query sees; 0 or more.
        device: where the mask is made, a torch.device or its name. None: the default device.

    Returns:
        The mask [q, k], boolean: the query at position p = k - q + i sees position j where j <= p,
        and p - j < window or j < sinks. It is on `device`. With 0 queries it is empty.

    Raises:
        ValueError: there are more queries than keys.
        ValueError: `window` is below 1.
        ValueError: `sinks` is below 0.

    Source: Jiang and others 2023, section 2; the sinks Xiao and others 2023, section 3.

    Example:
        >>> window_mask(2, 5, window=2)
        tensor([[False, False,  True,  True, False],
                [False, False, False,  True,  True]])
        >>> window_mask(2, 5, window=2, sinks=1)
        tensor([[ True, False,  True,  True, False],
                [ True, False, False,  True,  True]])
    """
    if window < 1 or sinks < 0:
        raise ValueError(
            f"window must be at least 1 and sinks at least 0: got {window} and {sinks}"
        )
    past = causal_mask_at(q, k, device)  # [q, k]
    key = torch.arange(k, device=device)  # [k]
    query = key[k - q :, None]  # [q, 1]
    return past & ((query - key < window) | (key < sinks))


def _check_fit(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse queries, keys and values that do not belong to the same positions."""
    same = query.shape[:-1] == key.shape[:-1] == value.shape[:-1]
    if query.ndim < 2 or not same or query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"query and key must be [*batch, n, d_k], and value [*batch, n, d_v]: "
            f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )


def window_attention(
    query: Float[Tensor, "*batch n d_k"],
    key: Float[Tensor, "*batch n d_k"],
    value: Float[Tensor, "*batch n d_v"],
    window: int,
) -> Float[Tensor, "*batch n d_v"]:
    """Let each position attend to the last few positions, at the price of those alone.

    Difficulty 4 of 5, about 30 minutes.

    Memory and work grow as n does, and as the window does. So nothing that is made has a number for
    each pair of positions, neither scores nor a mask, also not on the way back.

    Args:
        query: what each position asks [*batch, n, d_k].
        key: what each position offers [*batch, n, d_k].
        value: what each position hands over [*batch, n, d_v].
        window: how many positions each looks back at, its own counted; at least 1, and it may be
            larger than n. It need not divide n.

    Returns:
        One mixture of values per position [*batch, n, d_v]: the attention of the queries over keys
        and values under `window_mask(n, n, window)`.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `query`, `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `window` is below 1.

    Source: Jiang and others 2023, section 2; the blocks Beltagy and others 2020, section 3.2.

    Example:
        >>> query, key = torch.zeros(5, 1), torch.zeros(5, 1)
        >>> value = torch.tensor([[8.0], [16.0], [40.0], [4.0], [20.0]])
        >>> window_attention(query, key, value, 2).flatten()
        tensor([ 8., 12., 28., 22., 12.])
    """
    _check_fit(query, key, value)
    n = query.shape[-2]
    if window < 1:
        raise ValueError(f"window must be at least 1: got {window}")
    window = min(window, n)
    blocks = -(-n // window)
    rest = blocks * window - n

    def with_the_block_before(x: Tensor) -> Tensor:
        padded = F.pad(x, (0, 0, window, rest))  # [*batch, window + n + rest, d]
        return padded.unfold(-2, 2 * window, window).mT  # [*batch, blocks, 2 * window, d]

    queries = F.pad(query, (0, 0, 0, rest)).unflatten(-2, (blocks, window))
    mask = window_mask(window, 2 * window, window, device=query.device)  # [window, 2 * window]
    mask = mask.repeat(blocks, 1, 1)  # [blocks, window, 2 * window]
    mask[0, :, :window] = False  # before the first block there is nothing
    mixed = attention(queries, with_the_block_before(key), with_the_block_before(value), mask)
    return mixed.flatten(-3, -2)[..., :n, :]  # [*batch, n, d_v]
