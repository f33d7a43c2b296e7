"""Chapter 11. The cache: one word at a time. The reference answer."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ex05_mixing import attention
from ex06_heads import merge_heads, split_heads
from ex08_positions import rotary_angles, rotate_pairs
from ex09_groups import grouped_attention
from ex10_window import causal_mask_at, window_mask


class KeyValueCache:
    """Keep the keys and values of the words so far, in memory that is made once.

    Difficulty 3 of 5, about 20 minutes.

    The attribute `length` says how many rows it holds: an int, 0 at first. The buffers are made at
    the first update, for `capacity` rows, in the dtype and on the device of what comes. So an
    update after the first makes nothing that grows with `length`, or with `capacity`. Caches share
    nothing: each has buffers of its own. No gradients go through a cache.

    Args:
        capacity: how many rows there is room for; at least 1.

    Raises:
        ValueError: `capacity` is below 1.

    Source: Pope and others 2022, section 3.

    Example:
        >>> cache = KeyValueCache(capacity=3)
        >>> keys, values = cache.update(torch.tensor([[1.0], [2.0]]), torch.tensor([[5.0], [6.0]]))
        >>> keys, values = cache.update(torch.tensor([[3.0]]), torch.tensor([[7.0]]))
        >>> keys.flatten(), values.flatten(), cache.length
        (tensor([1., 2., 3.]), tensor([5., 6., 7.]), 3)
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1: got {capacity}")
        self.capacity = capacity
        self.reset()

    def update(
        self, key: Float[Tensor, "*batch m d_k"], value: Float[Tensor, "*batch m d_v"]
    ) -> tuple[Float[Tensor, "*batch n d_k"], Float[Tensor, "*batch n d_v"]]:
        """Take in the rows of some more words.

        Args:
            key: the new keys [*batch, m, d_k]. With 0 rows, m = 0, nothing is added, and all rows
                so far come back.
            value: their values, as many [*batch, m, d_v].

        Returns:
            All keys so far and all values so far, a tuple [*batch, n, d_k] and [*batch, n, d_v]
            with n = `length`, the new rows last. They are views of the buffers, and stay as they
            are when later rows come.

        Raises:
            ValueError: `key` or `value` has fewer than two dimensions.
            ValueError: `key` and `value` differ in number or in their batch.
            ValueError: `key` or `value` differs from the first update in batch, width, dtype or
                device; nothing is changed then.
            ValueError: there is no room for m more rows; nothing is changed then.
        """
        shapes = f"got {tuple(key.shape)} and {tuple(value.shape)}"
        if key.ndim < 2 or value.ndim < 2 or key.shape[:-1] != value.shape[:-1]:
            raise ValueError(f"key must be [*batch, m, d_k] and value [*batch, m, d_v]: {shapes}")
        end = self.length + key.shape[-2]
        if end > self.capacity:
            raise ValueError(f"{self.length} rows and {key.shape[-2]} more are > {self.capacity}")
        if self.buffers is None:
            self.buffers = _room_for(key, self.capacity), _room_for(value, self.capacity)
        for buffer, new in zip(self.buffers, (key, value), strict=True):
            if not _fits(buffer, new):
                raise ValueError(
                    f"the cache holds {buffer.dtype} {tuple(buffer.shape)} on {buffer.device}, "
                    f"and {new.dtype} {tuple(new.shape)} on {new.device} is to be added"
                )
        for buffer, new in zip(self.buffers, (key, value), strict=True):
            buffer[..., self.length : end, :] = new.detach()
        self.length = end
        keys, values = self.buffers  # both [*batch, capacity, d]
        return keys[..., :end, :], values[..., :end, :]

    def reset(self) -> None:
        """Forget all rows; the next update is a first one, and may bring another shape."""
        self.length = 0
        self.buffers: tuple[Tensor, Tensor] | None = None


def _room_for(rows: Tensor, capacity: int) -> Tensor:
    """Make an empty buffer for rows like these."""
    return rows.new_empty(*rows.shape[:-2], capacity, rows.shape[-1])


def _fits(buffer: Tensor, rows: Tensor) -> bool:
    """Tell whether rows may go into a buffer as they are."""
    alike = rows.dtype == buffer.dtype and rows.device == buffer.device
    return alike and rows.shape == (*buffer.shape[:-2], rows.shape[-2], buffer.shape[-1])


def attend_with_cache(
    query: Float[Tensor, "*batch m d_k"],
    key: Float[Tensor, "*batch m d_k"],
    value: Float[Tensor, "*batch m d_v"],
    cache: KeyValueCache,
) -> Float[Tensor, "*batch m d_v"]:
    """Let some new words attend to all words so far, and to each other.

    Difficulty 3 of 5, about 15 minutes.

    Call it with the pieces of a text, one after the other: however it was cut, each row is that of
    the whole text. A step of one word works out one score for each word so far, so its work grows
    as the length of the cache does, and not as the square.

    Args:
        query: what each new word asks [*batch, m, d_k].
        key: what each new word offers [*batch, m, d_k].
        value: what each new word hands over [*batch, m, d_v].
        cache: holds the words before. The keys and values of the new ones are added to it.

    Returns:
        One mixture of values per new word [*batch, m, d_v]: the attention of the m queries over all
        keys and values that the cache then holds, where a word sees itself and what came before it.
        Gradients reach the queries; none go through the cache.

    Raises:
        ValueError: `query` and `key` differ in shape; the cache is left as it was then.
        ValueError: the cache refuses `key` and `value`; it is left as it was then.

    Source: Shazeer 2019, section 2.3.

    Example:
        >>> cache, query = KeyValueCache(capacity=4), torch.zeros(2, 1)
        >>> value = torch.tensor([[8.0], [16.0]])
        >>> attend_with_cache(query, torch.zeros(2, 1), value, cache).flatten()
        tensor([ 8., 12.])
        >>> one = torch.zeros(1, 1)
        >>> attend_with_cache(one, one, torch.tensor([[36.0]]), cache).flatten()
        tensor([20.])
    """
    if query.shape != key.shape:
        raise ValueError(f"query is {tuple(query.shape)} and key {tuple(key.shape)}")
    keys, values = cache.update(key, value)  # [*batch, n, d_k] and [*batch, n, d_v]
    mask = causal_mask_at(query.shape[-2], keys.shape[-2], device=query.device)  # [m, n]
    return attention(query, keys, values, mask)  # [*batch, m, d_v]


class CachedAttention(nn.Module):
    """Causal self-attention with rotary positions, of a whole text or piece by piece.

    Difficulty 4 of 5, about 30 minutes.

    Each head is d_head = d_model / n_heads wide, those of keys and values as well, and heads share
    keys as in chapter 9. The module has four layers and no other weights, each an nn.Linear without
    a bias:
        w_q: makes the queries, d_model to d_model.
        w_k: makes the keys, d_model to n_kv_heads * d_head.
        w_v: makes the values, d_model to n_kv_heads * d_head.
        w_o: the output projection, d_model to d_model, applied to the joined heads.

    Args:
        d_model: the width of the tokens, in and out.
        n_heads: how many heads of queries; at least 1, and it divides d_model into an even d_head.
        n_kv_heads: how many heads of keys and values; at least 1, and it divides n_heads. None: as
            many as n_heads.
        window: how many positions a word looks back at, its own counted; at least 1, and it may be
            larger than any text. None: all of them.

    Raises:
        ValueError: `n_heads` is below 1 or does not divide d_model.
        ValueError: d_model / n_heads is odd.
        ValueError: `n_kv_heads` is below 1 or does not divide n_heads.
        ValueError: `window` is below 1.

    Source: the attention of Llama and of Mistral 7B.

    Example:
        >>> layer, cache = CachedAttention(d_model=12, n_heads=6, n_kv_heads=2), KeyValueCache(9)
        >>> layer(torch.zeros(3, 5, 12), cache).shape, cache.length
        (torch.Size([3, 5, 12]), 5)
        >>> layer(torch.zeros(3, 1, 12), cache).shape, cache.length
        (torch.Size([3, 1, 12]), 6)
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int | None = None, window: int | None = None
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads < 1 or d_model % n_heads != 0 or d_model // n_heads % 2 != 0:
            raise ValueError(
                f"n_heads must be at least 1, and d_model / n_heads whole and even: "
                f"got {n_heads} and {d_model}"
            )
        if n_kv_heads < 1 or n_heads % n_kv_heads != 0:
            raise ValueError(
                f"n_kv_heads must be at least 1 and divide n_heads: got {n_kv_heads} and {n_heads}"
            )
        if window is not None and window < 1:
            raise ValueError(f"window must be at least 1: got {window}")
        self.n_heads, self.n_kv_heads, self.window = n_heads, n_kv_heads, window
        d_kv = n_kv_heads * (d_model // n_heads)
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_kv, bias=False)
        self.w_v = nn.Linear(d_model, d_kv, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "*batch m d_model"], cache: KeyValueCache | None = None
    ) -> Float[Tensor, "*batch m d_model"]:
        """Let each token look at itself and at what came before it.

        Args:
            x: the new tokens, as rows [*batch, m, d_model], in the dtype of the weights.
            cache: holds the turned keys and the values of the tokens before, which stand at
                positions 0 to `cache.length` - 1. Those of `x` are added to it, and the module
                keeps nothing itself. None: `x` is the whole text, and begins at position 0.

        Returns:
            One new row per token of `x` [*batch, m, d_model]: w_o of the joined heads of
            `grouped_attention`, causal or under the window, where `rotate_pairs` has turned queries
            and keys of each head by their positions, with base 10000. The rows are the same in
            whichever pieces a text comes. A step's work grows as the length does, and not as its
            square.

        Raises:
            ValueError: `x` has fewer than two dimensions.
            ValueError: `x` is not d_model wide.
            ValueError: the cache has no room for `x`, or has rows of another batch.
        """
        if x.ndim < 2 or x.shape[-1] != self.w_q.in_features:
            raise ValueError(f"x must be [*batch, m, {self.w_q.in_features}]: got {tuple(x.shape)}")
        begin, m = (0 if cache is None else cache.length), x.shape[-2]
        query = split_heads(self.w_q(x), self.n_heads)  # [*batch, h, m, d_head]
        key = split_heads(self.w_k(x), self.n_kv_heads)  # [*batch, g, m, d_head]
        value = split_heads(self.w_v(x), self.n_kv_heads)  # [*batch, g, m, d_head]
        positions = torch.arange(begin, begin + m, device=x.device)  # [m]
        angles = rotary_angles(positions, query.shape[-1])  # [m, d_head / 2]
        query, key = rotate_pairs(query, angles), rotate_pairs(key, angles)
        if cache is not None:
            key, value = cache.update(key, value)  # [*batch, g, n, d_head]
        n = key.shape[-2]
        mask = window_mask(m, n, self.window or n, device=x.device)  # [m, n]
        return self.w_o(merge_heads(grouped_attention(query, key, value, mask)))
