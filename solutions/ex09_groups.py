"""Chapter 9. Groups: attention with fewer heads of keys than of queries. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads


def repeat_heads(
    x: Float[Tensor, "*batch g n d"], times: int
) -> Float[Tensor, "*batch g*times n d"]:
    """Give each head several times, one beside the other.

    Difficulty 2 of 5, about 5 minutes.

    This copies, and `grouped_attention` does without. It is how groups are mostly explained.

    Args:
        x: heads of keys, or of values [*batch, g, n, d].
        times: how many heads share each of them; at least 1.

    Returns:
        The heads [*batch, g * times, n, d]: head j is the head j // times of `x`.

    Raises:
        ValueError: `x` has fewer than three dimensions.
        ValueError: `times` is below 1.

    Source: the code of Llama, where it is called repeat_kv.

    Example:
        >>> repeat_heads(torch.tensor([[[1.0]], [[2.0]]]), 3).flatten()
        tensor([1., 1., 1., 2., 2., 2.])
    """
    if x.ndim < 3 or times < 1:
        raise ValueError(
            f"x must be [*batch, g, n, d], and times at least 1: got {tuple(x.shape)} and {times}"
        )
    return x.repeat_interleave(times, dim=-3)  # [*batch, g * times, n, d]


def _check_fit(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse queries, keys and values that do not fit together."""
    shapes = f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
    if query.ndim < 3 or key.shape[:-1] != value.shape[:-1] or query.shape[-1:] != key.shape[-1:]:
        raise ValueError(
            f"query must be [*batch, h, q, d_k], key [*batch, g, k, d_k] "
            f"and value [*batch, g, k, d_v]: {shapes}"
        )
    if query.shape[:-3] != key.shape[:-3] or query.shape[-3] % key.shape[-3] != 0:
        raise ValueError(
            f"query and key must share their batch, and g divide h, the third dimension "
            f"from the end: {shapes}"
        )


def grouped_attention(
    query: Float[Tensor, "*batch h q d_k"],
    key: Float[Tensor, "*batch g k d_k"],
    value: Float[Tensor, "*batch g k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch h q d_v"]:
    """Let several heads of queries look through the same keys.

    Difficulty 4 of 5, about 20 minutes.

    Keys and values are never copied for each head: as long as all heads together have as many
    queries as before, more heads make no tensor larger.

    Args:
        query: what each head asks at each position [*batch, h, q, d_k].
        key: what each position offers, for a group of heads [*batch, g, k, d_k]; g divides h.
        value: what each position hands over, for the same group [*batch, g, k, d_v].
        mask: True where the query may attend, the same for every head; broadcasts to
            [*batch, q, k], which has no dimension for the heads. None: everywhere.

    Returns:
        The answer of each head [*batch, h, q, d_v]: head j is the attention of its own queries over
        the keys and values j // (h / g). A query that may attend to nothing gets a row of zeros,
        and finite gradients.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than three dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `key` and `value` differ in their heads.
        ValueError: the heads of `key` do not divide those of `query`.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `mask` does not broadcast to [*batch, q, k].

    Source: Ainslie and others 2023, section 2.2; with one head of keys Shazeer 2019, section 3.

    Example:
        >>> query = torch.zeros(6, 1, 1)
        >>> key = torch.tensor([[[0.0], [1.0]], [[0.0], [1.0]]])
        >>> value = torch.tensor([[[10.0], [20.0]], [[30.0], [70.0]]])
        >>> grouped_attention(query, key, value).flatten()
        tensor([15., 15., 15., 50., 50., 50.])
        >>> grouped_attention(query, key, value, torch.tensor([False, True])).flatten()
        tensor([20., 20., 20., 70., 70., 70.])
    """
    _check_fit(query, key, value)
    *batch, h, q, _ = query.shape
    g, k = key.shape[-3:-1]
    times = h // g
    if mask is not None:
        try:
            mask = mask.expand(*batch, q, k)
        except RuntimeError as error:
            sizes = f"{tuple(mask.shape)} to {(*batch, q, k)}"
            raise ValueError(f"mask must broadcast to [*batch, q, k]: got {sizes}") from error
        mask = torch.cat([mask] * times, -2).unsqueeze(-3)  # [*batch, 1, times * q, k]
    rows = query.unflatten(-3, (g, times)).flatten(-3, -2)  # [*batch, g, times * q, d_k]
    mixed = attention(rows, key, value, mask)  # [*batch, g, times * q, d_v]
    return mixed.unflatten(-2, (times, q)).flatten(-4, -3)  # [*batch, h, q, d_v]


def cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n: int,
    batch: int = 1,
    dtype: torch.dtype = torch.float16,
) -> int:
    """Say how much memory the keys and values take that a model keeps while it writes.

    Difficulty 1 of 5, about 5 minutes.

    How many heads of queries there are does not matter.

    Args:
        n_layers: how many layers, each with keys and values of its own.
        n_kv_heads: how many heads of keys and values a layer has.
        d_head: the width of a key and of a value.
        n: how many words each sequence has so far; it may be 0.
        batch: how many sequences are written at a time.
        dtype: of the numbers that are kept; floating, or whole as in a quantized cache.

    Returns:
        The bytes of all keys and all values, an int.

    Source: Shazeer 2019, section 2.4; the numbers of the example are those of Llama 2 70B.

    Example:
        >>> cache_bytes(n_layers=80, n_kv_heads=64, d_head=128, n=4096) / 2**30
        10.0
        >>> cache_bytes(n_layers=80, n_kv_heads=8, d_head=128, n=4096) / 2**30
        1.25
    """
    numbers = 2 * n_layers * n_kv_heads * d_head * n * batch  # keys and values
    return numbers * dtype.itemsize


class GroupedQueryAttention(nn.Module):
    """Multi-head attention whose heads share keys and values.

    Difficulty 3 of 5, about 15 minutes.

    Where n_kv_heads is n_heads, it gives what chapter 6's module gives. Each head is d_head =
    d_model / n_heads wide, those of keys and values as well. The module has four layers and no
    other weights, each an nn.Linear:
        w_q: makes the queries, d_model to d_model.
        w_k: makes the keys, d_model to n_kv_heads * d_head.
        w_v: makes the values, d_model to n_kv_heads * d_head.
        w_o: the output projection, d_model to d_model, applied to the joined heads.

    Args:
        d_model: the width of the tokens, in and out.
        n_heads: how many heads of queries; at least 1, and it divides d_model.
        n_kv_heads: how many heads of keys and values; at least 1, and it divides n_heads.
        bias: whether the four layers have a bias. False: none of them has one.

    Raises:
        ValueError: `n_heads` is below 1 or does not divide d_model.
        ValueError: `n_kv_heads` is below 1 or does not divide n_heads.

    Source: Ainslie and others 2023, section 2.2.

    Example:
        >>> layer = GroupedQueryAttention(d_model=12, n_heads=6, n_kv_heads=2)
        >>> layer(torch.zeros(3, 5, 12)).shape
        torch.Size([3, 5, 12])
        >>> [tuple(weight.shape) for _, weight in sorted(layer.named_parameters())]
        [(4, 12), (12, 12), (12, 12), (4, 12)]
    """

    def __init__(self, d_model: int, n_heads: int, n_kv_heads: int, bias: bool = False) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads != 0:
            raise ValueError(
                f"n_heads must be at least 1 and divide d_model: got {n_heads} and {d_model}"
            )
        if n_kv_heads < 1 or n_heads % n_kv_heads != 0:
            raise ValueError(
                f"n_kv_heads must be at least 1 and divide n_heads: got {n_kv_heads} and {n_heads}"
            )
        self.d_model = d_model
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        d_kv = n_kv_heads * (d_model // n_heads)
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_kv, bias=bias)
        self.w_v = nn.Linear(d_model, d_kv, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        """Let the tokens of `x` look at `memory`, or at each other where there is none.

        Args:
            x: the tokens that look, as rows [*batch, q, d_model], in the dtype of the weights.
            memory: the tokens looked at, as rows [*batch, k, d_model]; it makes the keys and the
                values. None: `x` itself.
            mask: True where the query may attend, the same for every head; broadcasts to
                [*batch, q, k]. None: everywhere.

        Returns:
            One new row per token of `x` [*batch, q, d_model]: w_o of the joined heads, where head i
            of the keys and values owns the i-th block of what w_k and w_v make. A query that may
            attend to nothing gets the bias of `w_o`, zeros if it has none, and finite gradients.

        Raises:
            ValueError: `x` or `memory` has fewer than two dimensions.
            ValueError: `x` or `memory` is not d_model wide.
            ValueError: `x` and `memory` differ in their batch.
            ValueError: `mask` does not broadcast to [*batch, q, k].
        """
        memory = x if memory is None else memory
        if x.shape[-1:] != (self.d_model,) or memory.shape[-1:] != (self.d_model,):
            raise ValueError(
                f"x and memory must be d_model = {self.d_model} wide: "
                f"got {tuple(x.shape)} and {tuple(memory.shape)}"
            )
        query = split_heads(self.w_q(x), self.n_heads)  # [*batch, h, q, d_head]
        key = split_heads(self.w_k(memory), self.n_kv_heads)  # [*batch, g, k, d_head]
        value = split_heads(self.w_v(memory), self.n_kv_heads)  # [*batch, g, k, d_head]
        return self.w_o(merge_heads(grouped_attention(query, key, value, mask)))
