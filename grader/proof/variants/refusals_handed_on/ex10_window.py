import torch
import torch.nn.functional as F

from ex05_mixing import attention


def causal_mask_at(q, k, device=None):
    return window_mask(q, k, max(k, 1), device=device)


def window_mask(q, k, window, sinks=0, device=None):
    if q > k or window < 1 or sinks < 0:
        raise ValueError(f"{q=} {k=} {window=} {sinks=}")
    p, j = torch.meshgrid(
        torch.arange(k - q, k, device=device), torch.arange(k, device=device), indexing="ij"
    )
    gap = p - j
    return (gap >= 0) & torch.logical_or(gap < window, j < sinks)


def window_attention(query, key, value, window):
    bad = ValueError(f"{tuple(query.shape)} {tuple(key.shape)} {tuple(value.shape)} {window=}")
    if min(query.dim(), key.dim(), value.dim()) < 2 or window < 1:
        raise bad
    if not query.shape[-2] == key.shape[-2] == value.shape[-2]:
        raise bad
    n = query.shape[-2]
    w = min(window, n)
    near_k, near_v = (
        F.pad(t, (0, 0, w - 1, 0)).unfold(-2, w, 1).mT for t in (key, value)
    )  # [..., n, w, d]
    place = torch.arange(n, device=query.device)
    real = torch.arange(w, device=query.device) + place[:, None] >= w - 1
    return attention(query.unsqueeze(-2), near_k, near_v, real.unsqueeze(-2)).squeeze(-2)
