"""I reuse my chapters. One checkpoint for each block of queries, all of its keys at once."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask
from ex05_mixing import attention
from ex10_window import causal_mask_at


def partial_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    out = attention(query, key, value, mask)
    scores = scaled_scores(query, key)
    if mask is not None:
        scores = apply_mask(scores, mask)
    if key.shape[-2] == 0:
        return out, scores.sum(-1) - torch.inf
    top = scores.detach().max(dim=-1, keepdim=True).values
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    total = (scores - top).exp().sum(dim=-1)
    closed = total == 0
    log_sum = torch.where(closed, 1.0, total).log() + top.squeeze(-1)
    return out, torch.where(closed, torch.full_like(log_sum, -torch.inf), log_sum)


def merge_partials(
    out_a: Tensor, log_sum_a: Tensor, out_b: Tensor, log_sum_b: Tensor
) -> tuple[Tensor, Tensor]:
    if out_a.dim() < 2 or out_b.dim() < 2:
        raise ValueError(f"out must be [*batch, q, d_v]: {out_a.shape}, {out_b.shape}")
    if out_a.shape != out_b.shape:
        raise ValueError(f"shapes differ: {out_a.shape}, {out_b.shape}")
    if log_sum_a.shape != out_a.shape[:-1] or log_sum_b.shape != out_a.shape[:-1]:
        raise ValueError(f"log_sum must be {out_a.shape[:-1]}")
    # a sigmoid is the softmax of two: the weight of b is sigmoid(b - a)
    both = (log_sum_a == -torch.inf) & (log_sum_b == -torch.inf)
    a = log_sum_a.masked_fill(both, 0.0)
    b = log_sum_b.masked_fill(both, 0.0)
    weights = torch.stack((a, b)).softmax(0)[..., None].masked_fill(both[..., None], 0.0)
    out = weights[0] * out_a + weights[1] * out_b
    return out, torch.stack((a, b)).logsumexp(0).masked_fill(both, -torch.inf)


def _rows(query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
    mask = None
    if causal:
        mask = causal_mask_at(query.shape[-2], key.shape[-2], query.device)
    if query.dtype in (torch.float16, torch.bfloat16):
        return attention(query.float(), key.float(), value.float(), mask).to(query.dtype)
    return attention(query, key, value, mask)


def flash_attention(
    query: Tensor, key: Tensor, value: Tensor, causal: bool = False, block: int = 64
) -> Tensor:
    if block < 1:
        raise ValueError(f"block must be at least 1, not {block}")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"too few dimensions: {query.shape} {key.shape} {value.shape}")
    q, k = query.shape[-2], key.shape[-2]
    if causal and q > k:
        raise ValueError(f"{q} queries are more than {k} keys")
    # chapter 5 refuses what does not fit; ask it with no query at all, that costs nothing
    if (
        query.shape[:-2] != key.shape[:-2]
        or query.shape[:-2] != value.shape[:-2]
        or query.shape[-1] != key.shape[-1]
        or k != value.shape[-2]
    ):
        raise ValueError(f"do not fit: {query.shape} {key.shape} {value.shape}")
    if q == 0:
        return attention(query, key, value)
    rows = []
    for start in range(0, q, block):
        stop = min(start + block, q)
        seen = k - q + stop if causal else k
        rows.append(
            checkpoint(
                _rows,
                query[..., start:stop, :],
                key[..., :seen, :],
                value[..., :seen, :],
                causal,
                use_reentrant=False,
                preserve_rng_state=False,
            )
        )
    return torch.cat(rows, dim=-2)
