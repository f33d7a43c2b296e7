"""Chapter 12. Flash: never all scores at once. The reference answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask
from ex04_softmax import softmax
from ex05_mixing import mix_values


def partial_attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> tuple[Float[Tensor, "*batch q d_v"], Float[Tensor, "*batch q"]]:
    """Attend to some of the keys, and say how much they weigh together.

    Difficulty 2 of 5, about 10 minutes.

    The output is that of chapter 5's `attention`. The second result is what is needed to merge it
    with attention over other keys.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what some positions offer [*batch, k, d_k].
        value: what these positions hand over [*batch, k, d_v].
        mask: True where the query may attend; broadcasts to [*batch, q, k]. None: everywhere.

    Returns:
        A tuple of the attention over these keys alone [*batch, q, d_v], and for each query the
        logarithm of the sum of exp of its scaled scores [*batch, q]. A query that may attend to
        nothing gets a row of zeros and minus infinity, and finite gradients.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `mask` does not broadcast to [*batch, q, k].

    Source: Rabe and Staats 2021, section 2; the "softmax_lse" of the library flash-attention.

    Example:
        >>> query, key = torch.zeros(1, 1), torch.zeros(4, 1)
        >>> value = torch.tensor([[6.0], [14.0], [2.0], [10.0]])
        >>> partial_attention(query, key, value)
        (tensor([[8.]]), tensor([1.3863]))
        >>> partial_attention(query, key, value, torch.tensor([True, True, False, False]))
        (tensor([[10.]]), tensor([0.6931]))
    """
    scores = scaled_scores(query, key)  # [*batch, q, k]
    if mask is not None:
        scores = apply_mask(scores, mask)
    out = mix_values(softmax(scores), value)  # [*batch, q, d_v]; zeros where all is closed
    return out, scores.logsumexp(-1)


def merge_partials(
    out_a: Float[Tensor, "*batch q d_v"],
    log_sum_a: Float[Tensor, "*batch q"],
    out_b: Float[Tensor, "*batch q d_v"],
    log_sum_b: Float[Tensor, "*batch q"],
) -> tuple[Float[Tensor, "*batch q d_v"], Float[Tensor, "*batch q"]]:
    """Make one of two attentions over different keys.

    Difficulty 3 of 5, about 15 minutes.

    In whatever order parts are merged, the same comes out. All of it is right where the logarithms
    are about 1e4, or -1e4.

    Args:
        out_a: attention over some keys [*batch, q, d_v].
        log_sum_a: log of the sum of exp of their scores [*batch, q]; minus infinity where all of
            them are closed, and there `out_a` is zeros.
        out_b: attention over other keys [*batch, q, d_v].
        log_sum_b: the same of their scores [*batch, q].

    Returns:
        A tuple of the attention over all these keys [*batch, q, d_v], and the logarithm of the sum
        of exp of all their scores [*batch, q]. Where one part is closed, it is the other part.
        Where both are, it is zeros and minus infinity, with finite gradients.

    Raises:
        ValueError: `out_a` or `out_b` has fewer than two dimensions.
        ValueError: `out_a` and `out_b` differ in shape.
        ValueError: `log_sum_a` or `log_sum_b` is not [*batch, q].

    Source: Milakov and Gimelshein 2018, section 3.1, equation 4; Dao 2023, section 2.3.

    Example:
        >>> a = torch.tensor([[12.0]]), torch.tensor([4.0]).log()
        >>> b = torch.tensor([[8.0]]), torch.tensor([12.0]).log()
        >>> merge_partials(*a, *b)
        (tensor([[9.]]), tensor([2.7726]))
    """
    if out_a.ndim < 2 or out_a.shape != out_b.shape:
        raise ValueError(f"parts must be alike: got {tuple(out_a.shape)} and {tuple(out_b.shape)}")
    if not log_sum_a.shape == log_sum_b.shape == out_a.shape[:-1]:
        raise ValueError(
            f"log_sum must be {tuple(out_a.shape[:-1])}: "
            f"got {tuple(log_sum_a.shape)} and {tuple(log_sum_b.shape)}"
        )
    closed = torch.maximum(log_sum_a, log_sum_b) == -torch.inf  # [*batch, q]
    both = torch.stack((log_sum_a, log_sum_b))  # [2, *batch, q]
    both = both.masked_fill(closed, 0)  # any number will do: both outputs are zeros there
    share_a, share_b = softmax(both, dim=0)[..., None]  # [*batch, q, 1]
    log_sum = both.logsumexp(0).masked_fill(closed, -torch.inf)  # [*batch, q]
    return share_a * out_a + share_b * out_b, log_sum


def flash_attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    causal: bool = False,
    block: int = 64,
) -> Float[Tensor, "*batch q d_v"]:
    """Work out attention block by block, there and back, and never have all scores at once.

    Difficulty 5 of 5, about 60 minutes.

    The largest tensor grows as the number of positions does, and so does what is kept for the way
    back, and so does all that is alive at once. So nothing of q x k numbers is made or kept, no
    scores, no weights and no mask, in whatever library, also on the way back. Pieces of [block,
    block], of [q, block] and of [block, k] are all small enough. With `causal`, blocks that are
    wholly in the future are not worked out, neither there nor back, so with q = k about half of the
    scores are never made. Gradients of gradients need not be had.

    Args:
        query: what each position asks for [*batch, q, d_k].
        key: what each position offers [*batch, k, d_k].
        value: what each position hands over [*batch, k, d_v].
        causal: whether a query sees only its own position and those before it. The queries are the
            last q of k positions, as in `causal_mask_at` of chapter 10.
        block: how many positions are worked out together; at least 1. It need not divide q or k,
            and may be larger than both.

    Returns:
        One mixture of values per query [*batch, q, d_v]: what `attention` of chapter 5 gives, under
        the causal mask or without one.

    Raises:
        ValueError: `query`, `key` or `value` has fewer than two dimensions.
        ValueError: `query` and `key` differ in width.
        ValueError: `key` and `value` differ in number.
        ValueError: `query`, `key` and `value` differ in their batch.
        ValueError: `causal` is True, and there are more queries than keys.
        ValueError: `block` is below 1.

    Source: Dao and others 2022, algorithm 1 and appendix B.4; Dao 2023, algorithms 1 and 2.

    Example:
        >>> query, key = torch.zeros(5, 1), torch.zeros(5, 1)
        >>> value = torch.tensor([[8.0], [16.0], [36.0], [4.0], [26.0]])
        >>> flash_attention(query, key, value, block=2).flatten()
        tensor([18., 18., 18., 18., 18.])
        >>> flash_attention(query, key, value, causal=True, block=2).flatten()
        tensor([ 8., 12., 20., 16., 18.])
    """
    shapes = f"got {tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2 or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(f"key must be [*batch, k, d_k] and value [*batch, k, d_v]: {shapes}")
    if query.shape[:-2] != key.shape[:-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query must be [*batch, q, d_k] and key [*batch, k, d_k]: {shapes}")
    if causal and query.shape[-2] > key.shape[-2]:
        raise ValueError(f"causal, with more queries than keys: {shapes}")
    if block < 1:
        raise ValueError(f"block must be at least 1: got {block}")
    return _Flash.apply(query, key, value, causal, block)


class _Flash(torch.autograd.Function):
    """Tile by tile, and once more on the way back."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, causal: bool, block: int
    ) -> Tensor:
        """Merge the tiles of each block of queries."""
        wide = torch.promote_types(query.dtype, torch.float32)
        out = value.new_zeros(*query.shape[:-1], value.shape[-1], dtype=wide)  # [*batch, q, d_v]
        log_sum = query.new_full(query.shape[:-1], -torch.inf, dtype=wide)  # [*batch, q]
        for rows, columns, mask in _tiles(query, key, causal, block):
            tile = partial_attention(
                query[..., rows, :].to(wide), key[..., columns, :].to(wide),
                value[..., columns, :].to(wide), mask,
            )  # fmt: skip
            out[..., rows, :], log_sum[..., rows] = merge_partials(
                out[..., rows, :], log_sum[..., rows], *tile
            )
        out = out.to(query.dtype)
        ctx.save_for_backward(query, key, value, out, log_sum)
        ctx.causal, ctx.block = causal, block
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Make the weights of each tile again, and add up what comes of it."""
        query, key, value, out, log_sum = ctx.saved_tensors
        wide, scale = log_sum.dtype, query.shape[-1] ** -0.5
        to_query, to_key, to_value = (torch.zeros_like(x, dtype=wide) for x in (query, key, value))
        mean = (grad.to(wide) * out.to(wide)).sum(-1)  # D [*batch, q]
        for rows, columns, mask in _tiles(query, key, ctx.causal, ctx.block):
            q, g = (x[..., rows, :].to(wide) for x in (query, grad))
            k, v = (x[..., columns, :].to(wide) for x in (key, value))
            scores = q @ k.mT * scale  # a tile
            if mask is not None:
                scores = scores.masked_fill(~mask, -torch.inf)
            weights = torch.exp(scores - log_sum[..., rows, None])
            to_scores = weights * (g @ v.mT - mean[..., rows, None]) * scale
            to_query[..., rows, :] += to_scores @ k
            to_key[..., columns, :] += to_scores.mT @ q
            to_value[..., columns, :] += weights.mT @ g
        gradients = (x.to(query.dtype) for x in (to_query, to_key, to_value))
        return *gradients, None, None


def _tiles(
    query: Tensor, key: Tensor, causal: bool, block: int
) -> Iterator[tuple[slice, slice, Tensor | None]]:
    """Go through the tiles that are not wholly in the future, with a mask where one is needed."""
    q, k = query.shape[-2], key.shape[-2]
    for top in range(0, q, block):
        bottom = min(top + block, q)
        end = k - q + bottom if causal else k  # of the keys that the last of these queries sees
        for left in range(0, end, block):
            right = min(left + block, end)
            mask = None
            first = k - q + top  # the position of the first query
            if causal and right - 1 > first:
                mask = torch.ones(bottom - top, right - left, dtype=torch.bool, device=query.device)
                mask = mask.tril(first - left)
            yield slice(top, bottom), slice(left, right), mask
