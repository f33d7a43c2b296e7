"""Style library: torch's softmax and logsumexp, and a checkpoint around each block of queries."""

import torch
from torch.utils.checkpoint import checkpoint


def _shapes(query, key, value):
    if query.ndim < 2 or key.ndim < 2 or value.ndim < 2 or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"{list(query.shape)}, {list(key.shape)}, {list(value.shape)}")
    if key.shape[:-1] != value.shape[:-1] or query.shape[:-2] != key.shape[:-2]:
        raise ValueError(f"{list(query.shape)}, {list(key.shape)}, {list(value.shape)}")


def partial_attention(query, key, value, mask=None):
    _shapes(query, key, value)
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(-1) @ value, scores.logsumexp(-1)
    try:
        mask = mask.broadcast_to(scores.shape)
    except RuntimeError as problem:
        raise ValueError(f"{list(mask.shape)} and {list(scores.shape)}") from problem
    closed = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(~mask & ~closed, -torch.inf)
    out = (scores.softmax(-1) @ value).masked_fill(closed, 0)
    return out, scores.logsumexp(-1).masked_fill(closed.squeeze(-1), -torch.inf)


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    if out_a.ndim < 2 or out_a.shape != out_b.shape:
        raise ValueError(f"{list(out_a.shape)} and {list(out_b.shape)}")
    if log_sum_a.shape != out_a.shape[:-1] or log_sum_b.shape != out_b.shape[:-1]:
        raise ValueError(f"{list(log_sum_a.shape)} and {list(log_sum_b.shape)}")
    closed = log_sum_a.isneginf() & log_sum_b.isneginf()
    a, b = log_sum_a.masked_fill(closed, 0), log_sum_b.masked_fill(closed, 0)
    share = torch.sigmoid(a - b)[..., None]
    return share * out_a + (1 - share) * out_b, torch.logaddexp(a, b).masked_fill(closed, -torch.inf)


def _rows(query, key, value, first):
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if first is not None:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).triu(first + 1)
        scores = scores.masked_fill(future, -torch.inf)
    return scores.softmax(-1) @ value


def flash_attention(query, key, value, causal=False, block=64):
    _shapes(query, key, value)
    q, k = query.shape[-2], key.shape[-2]
    if block < 1 or causal and q > k:
        raise ValueError(f"block={block}, q={q}, k={k}")
    rows = []
    for top in range(0, q, block):
        some = query[..., top : top + block, :]
        end = k - q + top + some.shape[-2] if causal else k
        given = some, key[..., :end, :], value[..., :end, :], k - q + top if causal else None
        rows.append(checkpoint(_rows, *given, use_reentrant=False, preserve_rng_state=False))
    return torch.cat(rows, -2)
