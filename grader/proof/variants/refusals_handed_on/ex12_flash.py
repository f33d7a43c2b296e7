import torch
from torch.utils.checkpoint import checkpoint

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask


def _up(t):
    return t if t.dtype.itemsize >= 4 else t.float()


def partial_attention(query, key, value, mask=None):
    if min(query.dim(), key.dim(), value.dim()) < 2 or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"query {tuple(query.shape)} key {tuple(key.shape)} value {tuple(value.shape)}"
        )
    s = scaled_scores(_up(query), _up(key))
    if mask is not None:
        s = apply_mask(s, mask)
    dead = s.isneginf().all(-1)
    lse = torch.logsumexp(s.masked_fill(dead[..., None], 0.0), -1)
    w = (s - lse[..., None]).exp().masked_fill(dead[..., None], 0.0)
    return (w @ _up(value)).to(query.dtype), lse.masked_fill(dead, -torch.inf).to(query.dtype)


def merge_partials(out_a, log_sum_a, out_b, log_sum_b):
    if (
        out_a.dim() < 2
        or out_a.shape != out_b.shape
        or {log_sum_a.shape, log_sum_b.shape} != {out_a.shape[:-1]}
    ):
        raise ValueError(f"{[tuple(t.shape) for t in (out_a, log_sum_a, out_b, log_sum_b)]}")
    a, b = _up(log_sum_a), _up(log_sum_b)
    no_a, no_b = a.isneginf(), b.isneginf()
    live_a, live_b = a.masked_fill(no_a, 0.0), b.masked_fill(no_b, 0.0)
    share = torch.sigmoid(live_a - live_b)
    share = torch.where(no_a, 0.0, torch.where(no_b, 1.0, share))[..., None]
    log_sum = torch.where(no_a, b, torch.where(no_b, a, torch.logaddexp(live_a, live_b)))
    rest = torch.sigmoid(live_b - live_a)
    rest = torch.where(no_b, 0.0, torch.where(no_a, 1.0, rest))[..., None]
    out = _up(out_a) * share + _up(out_b) * rest
    return out.to(out_a.dtype), log_sum.to(log_sum_a.dtype)


def flash_attention(query, key, value, causal=False, block=64):
    if min(query.dim(), key.dim(), value.dim()) < 2 or key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            f"query {tuple(query.shape)} key {tuple(key.shape)} value {tuple(value.shape)}"
        )
    q, k = query.shape[-2], key.shape[-2]
    if block < 1 or (causal and q > k):
        raise ValueError(f"{q=} {k=} {block=}")

    def tile(qs, first, lo, hi):
        """Some keys, cut in halves until they are few, and merged on the way out."""
        if hi - lo > block:
            half = lo + (hi - lo + block) // (2 * block) * block
            return merge_partials(*tile(qs, first, lo, half), *tile(qs, first, half, hi))
        mask = None
        m = qs.shape[-2]
        if causal and hi - 1 > first:
            mask = torch.ones(m, hi - lo, dtype=torch.bool, device=qs.device).tril(first - lo)
        return partial_attention(qs, _up(key[..., lo:hi, :]), _up(value[..., lo:hi, :]), mask)

    def strip(qs, first, _key, _value):
        return tile(_up(qs), first, 0, min(k, first + qs.shape[-2]) if causal else k)[0]

    parts = []
    for i in range(0, q, block):
        qs = query[..., i : i + block, :]
        if torch.is_grad_enabled():
            parts.append(checkpoint(strip, qs, i + k - q, key, value, use_reentrant=False))
        else:
            parts.append(strip(qs, i + k - q, key, value))
    return torch.cat(parts, -2).to(query.dtype)
